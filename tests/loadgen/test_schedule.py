"""When requests are due, and how a load is shared out: laws of pure functions."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen import Closed, JsonFieldRule, Load, Open, Request, Stage
from loadgen.schedule import due_moments, planned_requests
from loadgen.split import split_load
from loadgen.turns import weighted_turns

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
REQUESTS = (Request(url="http://127.0.0.1:1/"),)

stages = st.lists(
    st.builds(
        Stage,
        duration_s=st.floats(0.1, 10),
        rate_per_s=st.floats(0, 100),
        end_rate_per_s=st.none() | st.floats(0, 100),
    ),
    min_size=1,
    max_size=4,
)


def at(
    rate_per_s: float, duration_s: float, end_per_s: float | None = None, *, poisson: bool = False
) -> Open:
    stage = Stage(duration_s=duration_s, rate_per_s=rate_per_s, end_rate_per_s=end_per_s)
    return Open(stages=(stage,), poisson=poisson)


def test_a_constant_rate_has_even_gaps_from_the_beginning() -> None:
    moments = list(due_moments([Stage(duration_s=2, rate_per_s=4)]))

    assert moments == pytest.approx([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75])


def test_a_ramp_from_nothing_is_due_at_square_roots() -> None:
    """The area under a rate of 2 t is t squared."""
    moments = list(due_moments([Stage(duration_s=3, rate_per_s=0, end_rate_per_s=6)]))

    assert moments == pytest.approx([k**0.5 for k in range(9)])


def test_a_stage_goes_on_where_the_one_before_it_stopped() -> None:
    calm, busy = Stage(duration_s=1, rate_per_s=1.5), Stage(duration_s=1, rate_per_s=2)

    assert list(due_moments([calm, busy])) == pytest.approx([0, 2 / 3, 1.25, 1.75])


@given(stages)
def test_as_many_are_due_as_planned_in_order_and_within_the_stages(stages: list[Stage]) -> None:
    moments = list(due_moments(stages))

    assert abs(len(moments) - planned_requests(stages)) <= 1
    assert moments == sorted(moments)
    assert all(0 <= moment <= sum(stage.duration_s for stage in stages) for moment in moments)


def test_poisson_gaps_have_the_rate_and_spread_of_their_distribution() -> None:
    moments = list(due_moments([Stage(duration_s=200, rate_per_s=100)], random.Random(1)))
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5

    assert len(moments) == pytest.approx(20_000, rel=0.03)  # four standard deviations
    assert spread == pytest.approx(mean, rel=0.05)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=6), st.integers(1, 500))
def test_each_weight_has_its_share_of_any_number_of_turns(weights: list[float], n: int) -> None:
    counts = Counter(itertools.islice(weighted_turns(weights), n))

    for place, weight in enumerate(weights):
        assert abs(counts[place] - n * weight / sum(weights)) <= len(weights)


@given(st.integers(1, 1000), st.integers(1, 50), st.integers(0, 50), st.integers(1, 9))
def test_a_closed_load_is_shared_out_exactly(
    requests: int, tasks: int, warmup: int, processes: int
) -> None:
    shape = Closed(requests=requests, tasks=tasks)
    load = Load(requests=REQUESTS, shape=shape, outcome=RULE, warmup_requests=warmup)
    parts = split_load(load, processes)
    shapes = [part.shape for part in parts if isinstance(part.shape, Closed)]

    assert 1 <= len(shapes) == len(parts) <= processes
    assert sum(shape.requests or 0 for shape in shapes) == requests
    assert sum(shape.tasks for shape in shapes) == min(tasks, sum(s.tasks for s in shapes)) == tasks
    assert sum(part.warmup_requests for part in parts) == warmup


@given(stages.filter(lambda s: any(due_moments(s, random.Random(0)))))
def test_the_parts_of_an_open_load_keep_its_schedule_together(stages: list[Stage]) -> None:
    load = Load(requests=REQUESTS, shape=Open(stages=tuple(stages), poisson=True), outcome=RULE)
    whole = list(due_moments(stages, random.Random(0)))
    together: list[float] = []
    for part in split_load(load, 3):
        assert isinstance(part.shape, Open)
        moments = due_moments(part.shape.stages, random.Random(part.shape.seed))
        together += itertools.islice(moments, part.shape.part, None, part.shape.parts)

    assert sorted(together) == whole


@pytest.mark.parametrize(
    "load",
    [
        Load(requests=REQUESTS, shape=Closed(requests=3, tasks=2), outcome=RULE),
        Load(
            requests=(
                Request(url="https://[::1]:8/a?b=c", method="POST", headers={"x": "y"}, body="ї"),
                Request(url="http+unix://%2Frun%2Fx.sock/", name="socket", weight=2.5),
            ),
            shape=Open(stages=(Stage(duration_s=1, rate_per_s=2, end_rate_per_s=3),), poisson=True),
            outcome=RULE,
            keep_alive=False,
            warmup_s=1.5,
            verify_tls=False,
        ),
    ],
)
def test_a_load_comes_back_from_its_document(load: Load) -> None:
    assert Load.from_document(load.to_document()) == load


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Closed(tasks=1), "give either requests or duration_s"),
        (lambda: Closed(tasks=1, requests=1, duration_s=1), "give either requests or duration_s"),
        (lambda: Open(stages=()), "no request falls due: the rate comes to 0 requests in 0 s"),
        (lambda: at(0.5, 1), "no request falls due: the rate comes to 0.5 requests in 1 s"),
        (lambda: at(0, 1, 0.9), "no request falls due: the rate comes to 0.45 requests in 1 s"),
        (lambda: at(0.5, 1, poisson=True), "no request falls due with seed 0: the rate comes to"),
        (lambda: Request(url="http://u:p@h/"), "must not hold a user name"),
        (lambda: Request(url="ftp://h/"), "url must be like"),
        (lambda: Request(url="http://h:99999/"), "url must be like"),
        (lambda: Request(url="http://h/", headers={"Connection": "x"}), "is the load generator's"),
        (lambda: Request(url="http://h/", headers={"x": "a\r\nb: c"}), "one line of ASCII"),
        (lambda: Request(url="http://h/", method="GET /x"), "method must be a word"),
        (lambda: Request(url="http://h/", weight=0), "weight must be a number above 0"),
    ],
)
def test_what_cannot_be_sent_is_refused_when_it_is_built(build: object, complaint: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=complaint):
        build()
