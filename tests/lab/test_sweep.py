"""What a setting buys and costs, and which are beaten."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.reports import LANGUAGES, Report, render_markdown
from lab.results.outline import ClientOutline, Outline
from lab.results.summary import CellSummary, Spread
from lab.results.sweep import SweepRow, sweep_rows, write_sweep
from lab.run.plan import Selection, plan
from lab.spec.reading import read_experiment
from tests.lab.spec.folder import EXPERIMENT, write_folder

CLASSES = ("fresh", "stale")
SWEEP = """\
  policy:
    env: {front: {FAILURE_RATIO: "off", RETRIES: "9"}}
    sweep:
      attempt_timeout: {env: front.ATTEMPT_TIMEOUT_S, values: [100ms, off]}
      retries: {env: front.RETRIES, values: [0, 2]}
"""
WITH_SWEEP = EXPERIMENT.replace("  resilient: {}\n", SWEEP)

Figures = tuple[float, float, float, float]  # fresh share, mean, p95, attempts


def cell(number: int, figures: Figures | None, fault: str = "sick") -> CellSummary:
    client = f"policy retries={number}"
    if figures is None:
        return CellSummary(fault=fault, client=client, requests=100, runs=0)
    share, *costs = (Spread(median=value, low=value, high=value) for value in figures)
    names = ("mean_ms", "p95_ms", "attempts_per_request")
    return CellSummary(
        fault=fault,
        client=client,
        requests=100,
        runs=1,
        figures=dict(zip(names, costs, strict=True)),
        shares={"fresh": share},
    )


def rows_of(*cells: CellSummary) -> tuple[SweepRow, ...]:
    clients = [
        ClientOutline(name=name, sweep="policy", settings={"retries": name.rpartition("=")[2]})
        for name in dict.fromkeys(cell.client for cell in cells)
    ]
    return sweep_rows(cells, [ClientOutline(name="raw"), *clients], classes=CLASSES)


def unbeaten(*figures: Figures | None) -> list[int]:
    rows = rows_of(*(cell(number, each) for number, each in enumerate(figures)))
    return [number for number, row in enumerate(rows) if row.is_unbeaten]


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ([(0.9, 10, 20, 1), (0.8, 10, 20, 1)], [0]),  # fresher for the same
        ([(0.9, 10, 20, 1), (0.9, 11, 20, 1)], [0]),  # as fresh for less
        ([(0.9, 10, 20, 1), (0.8, 9, 20, 1)], [0, 1]),  # each is better in something
        ([(0.9, 10, 20, 1), (0.9, 10, 20, 1)], [0, 1]),  # the same
        ([(0.9, 10.01, 20, 1), (0.9, 10.02, 20, 1)], [0, 1]),  # the same as far as one sees
        ([(0.9, 10, 20, 1), None], [0]),  # nothing was measured
        ([None, None], []),
    ],
)
def test_a_setting_is_unbeaten_if_no_other_is_better_somewhere_and_worse_nowhere(
    figures: list[Figures | None], expected: list[int]
) -> None:
    assert unbeaten(*figures) == expected


def test_each_fault_has_settings_of_its_own_that_no_other_beats() -> None:
    rows = rows_of(
        cell(0, (1, 5, 5, 1), "none"),
        cell(2, (1, 6, 6, 1), "none"),
        cell(0, (0.5, 5, 5, 1)),
        cell(2, (0.9, 6, 6, 2)),
    )

    assert [row.is_unbeaten for row in rows] == [True, False, True, True]


def test_a_cost_that_one_setting_lacks_is_left_out_for_all() -> None:
    cheap, dear = cell(0, (0.9, 10, 99, 1)), cell(2, (0.9, 11, 20, 1))
    del cheap.figures["p95_ms"]  # type: ignore[attr-defined] # a plain dict in this test

    assert [row.is_unbeaten for row in rows_of(cheap, dear)] == [True, False]


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 4), min_size=1, max_size=12))
def test_whatever_is_beaten_is_beaten_by_an_unbeaten_one(figures: list[Figures]) -> None:
    best = unbeaten(*figures)

    def beats(one: Figures, other: Figures) -> bool:
        worse = [
            one[0] < other[0],
            *(mine > its for mine, its in zip(one[1:], other[1:], strict=True)),
        ]
        return one != other and not any(worse)

    assert best
    for number, each in enumerate(figures):
        assert (number in best) != any(beats(figures[one], each) for one in best)


def test_a_sweep_is_a_client_for_each_combination_of_values(tmp_path: Path) -> None:
    clients = read_experiment(write_folder(tmp_path, experiment=WITH_SWEEP)).clients

    assert [client.name for client in clients] == [
        "policy attempt_timeout=100ms retries=0",
        "policy attempt_timeout=100ms retries=2",
        "policy attempt_timeout=off retries=0",
        "policy attempt_timeout=off retries=2",
        "raw",
    ]
    assert clients[0].env == {
        "front": {"FAILURE_RATIO": "off", "RETRIES": "0", "ATTEMPT_TIMEOUT_S": "0.1"}
    }
    assert clients[3].env["front"]["ATTEMPT_TIMEOUT_S"] == "off"
    assert clients[0].settings == {"attempt_timeout": "100ms", "retries": "0"}
    assert (clients[0].sweep, clients[-1].sweep) == ("policy", "")


def test_a_value_with_a_unit_is_told_in_that_of_the_variable(tmp_path: Path) -> None:
    text = WITH_SWEEP.replace("ATTEMPT_TIMEOUT_S, values: [100ms, off]", "WAIT_MS, values: [1.5 s]")
    clients = read_experiment(write_folder(tmp_path, experiment=text)).clients

    assert clients[0].env["front"]["WAIT_MS"] == "1500"


def test_a_bound_or_selection_of_a_sweep_is_one_of_each_of_its_clients(tmp_path: Path) -> None:
    text = WITH_SWEEP.replace("client: raw, requests: 8", "client: policy, requests: 8")
    text = text.replace("{fault: none, fresh: 100 %}", "{client: policy, error: 0}")
    experiment = read_experiment(write_folder(tmp_path, experiment=text))
    swept = [client.name for client in experiment.clients if client.sweep]

    cells = plan(experiment, only=Selection(faults=("rates stopped",), clients=("policy",)))

    assert [expectation.client for expectation in experiment.expectations] == swept
    assert [(cell.client.name, cell.requests) for cell in cells] == [(name, 8) for name in swept]


def test_the_file_and_the_page_of_a_sweep_have_its_settings_in_columns(tmp_path: Path) -> None:
    cells = (cell(0, (0.9, 10.26, 20, 1)), cell(2, (0.95, 12, 200, 1.254)), cell(5, None))
    rows = rows_of(*cells)
    write_sweep(rows, tmp_path / "sweep.csv", classes=CLASSES)
    outline = Outline(title="A sweep", classes=CLASSES)
    report = Report(outline=outline, summaries=cells, sweep=rows)

    page = render_markdown(report, LANGUAGES["en"])

    with (tmp_path / "sweep.csv").open() as file:
        first, second, third = csv.DictReader(file)
    assert (first["retries"], first["fresh_share"], first["mean_ms"]) == ("0", "0.9", "10.26")
    assert (second["attempts_per_request"], second["unbeaten"]) == ("1.254", "yes")
    assert (third["fresh_share"], third["unbeaten"]) == ("", "no")
    assert "| Fault | retries | Fresh | Stale | Error | Mean, ms |" in page
    assert "| sick | 0 | 90 % | n/a | n/a | 10 | 20 | 1.00 | yes |" in page
    assert page.count("| sick | ") == 3


def test_one_error_in_50_000_is_seen_in_the_tables_of_a_sweep(tmp_path: Path) -> None:
    shares = Spread(median=1, low=1 - 1 / 50_000, high=1)
    some, none = (cell(number, (1 - missed, 10, 20, 1)) for number, missed in ((0, 2e-5), (2, 0)))
    varied = replace(cell(5, (1, 10, 20, 1)), shares={"fresh": shares})
    rows = rows_of(some, none, varied)
    write_sweep(rows, tmp_path / "sweep.csv", classes=CLASSES)

    page = render_markdown(
        Report(
            outline=Outline(title="", classes=CLASSES), summaries=(some, none, varied), sweep=rows
        ),
        LANGUAGES["en"],
    )

    assert r"| sick | 0 | \>99.99 % | n/a | n/a | 10 | 20 | 1.00 |  |" in page
    assert "| sick | 2 | 100 % | n/a | n/a | 10 | 20 | 1.00 | yes |" in page
    assert r"| sick | 5 | 100 %, \>99.99–100 % | n/a |" in page  # noqa: RUF001
    with (tmp_path / "sweep.csv").open() as file:
        assert [row["fresh_share"] for row in csv.DictReader(file)] == ["0.99998", "1", "1"]
