from pathlib import Path

import pytest

from lab.run.plan import Selection, SelectionError, parse_selection, plan
from lab.spec.clients import Client
from lab.spec.expectations import Override
from lab.spec.experiment import Experiment
from lab.spec.faults import Condition
from lab.spec.load import Load, Request
from lab.spec.system import System
from loadgen import JsonFieldRule

EXPERIMENT = Experiment(
    path=Path("x.yaml"),
    title="x",
    system=System(path=Path("s.yaml"), services=()),
    load=Load(mix=(Request(method="GET", url="{front.url}/"),), requests=200, tasks=4),
    outcome=JsonFieldRule(json_field="source", classes=("fresh",)),
    clients=(Client(name="resilient"), Client(name="raw")),
    conditions=(Condition(name="none"), Condition(name="30 % replies 500")),
    warmup=1,
    repeats=5,
)


def test_conditions_come_in_the_order_of_the_file_and_in_each_the_clients() -> None:
    cells = plan(EXPERIMENT)

    assert [cell.name for cell in cells] == [
        "none / resilient",
        "none / raw",
        "30 % replies 500 / resilient",
        "30 % replies 500 / raw",
    ]
    assert {(c.requests, c.tasks, c.repeats, c.warmup) for c in cells} == {(200, 4, 5, 1)}


def test_an_override_changes_only_its_numbers_in_only_its_cells() -> None:
    overrides = (Override(fault="none", client="raw", requests=8, warmup=0),)

    cells = plan(EXPERIMENT.model_copy(update={"overrides": overrides}))

    assert [(c.requests, c.tasks, c.repeats, c.warmup) for c in cells] == [
        (200, 4, 5, 1),
        (8, 4, 5, 0),
        (200, 4, 5, 1),
        (200, 4, 5, 1),
    ]


def test_an_override_may_put_a_duration_in_place_of_requests_and_a_rate_in_place_of_tasks() -> None:
    overrides = (
        Override(client="raw", duration_s=3),
        Override(fault="none", rate_per_s=50),
    )

    cells = plan(EXPERIMENT.model_copy(update={"overrides": overrides}))

    assert [(c.requests, c.duration_s, c.tasks, c.rate_per_s) for c in cells] == [
        (200, None, None, 50),
        (None, 3, None, 50),
        (200, None, 4, None),
        (None, 3, 4, None),
    ]
    assert [(c.planned_requests, c.planned_s) for c in cells] == [
        (200, 4),
        (150, 3),
        (200, None),
        (None, 3),
    ]


def test_a_later_override_goes_over_an_earlier_one() -> None:
    overrides = (Override(requests=10, tasks=1), Override(client="raw", requests=20))

    cells = plan(EXPERIMENT.model_copy(update={"overrides": overrides}))

    assert [(c.requests, c.tasks) for c in cells] == [(10, 1), (20, 1), (10, 1), (20, 1)]


def test_repeats_asked_for_go_over_every_override() -> None:
    cells = plan(
        EXPERIMENT.model_copy(update={"overrides": (Override(client="raw", repeats=1),)}), repeats=2
    )

    assert {cell.repeats for cell in cells} == {2}


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["fault=none"], ["none / resilient", "none / raw"]),
        (["client=raw"], ["none / raw", "30 % replies 500 / raw"]),
        (["client=raw", "fault=30 % replies 500"], ["30 % replies 500 / raw"]),
        (["client=raw", "client=resilient", "fault=none"], ["none / resilient", "none / raw"]),
    ],
)
def test_filters_pick_cells_and_keep_their_order(filters: list[str], names: list[str]) -> None:
    cells = plan(EXPERIMENT, only=parse_selection(filters))

    assert [cell.name for cell in cells] == names


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (Selection(faults=("nine",)), 'has no fault "nine"; write "none"'),
        (Selection(clients=("zzz",)), 'has no client "zzz"; write "resilient", "raw"'),
    ],
)
def test_an_unknown_name_is_refused_with_what_could_be_meant(only: Selection, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        plan(EXPERIMENT, only=only)


@pytest.mark.parametrize("one", ["none", "fault", "fault=", "flt=none", ""])
def test_a_filter_of_another_shape_is_refused(one: str) -> None:
    with pytest.raises(SelectionError, match="write fault=NAME or client=NAME"):
        parse_selection([one])
