"""Medians, expectations and the page of runs made by hand."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from lab.reports import LANGUAGES
from lab.spec.clients import Client
from lab.spec.expectations import Expectation
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import ChaosFault
from lab.spec.load import Load, Request
from lab.spec.system import System
from lab.spec.timeline import Event, Objective, Timeline
from lab.timeline.figures import Figures
from lab.timeline.page import TerminalPage, markdown
from lab.timeline.phases import row_names
from lab.timeline.report import TimelineReport, page_of
from lab.timeline.runner import TimelineRun
from lab.timeline.summary import check, summarise
from lab.timeline.wording import TIMELINE_LANGUAGES
from loadgen import JsonFieldRule, Stage

SICK = Event(
    name="sick",
    at_s=2,
    end_s=5,
    faults=(ChaosFault(service="rates", document={"failure": 1.0}),),
)
TIMELINE = Timeline(
    duration_s=10,
    stages=(Stage(duration_s=10, rate_per_s=10),),
    events=(SICK,),
    objective=Objective(share=0.99, classes=("fresh",)),
)
EXPERIMENT = Experiment(
    path=Path("x.yaml"),
    title="Over time",
    system=System(path=Path("s.yaml"), services=()),
    load=Load(mix=(Request(method="GET", url=""),), requests=100, tasks=10),
    outcome=JsonFieldRule(json_field="source", classes=("fresh",)),
    clients=(Client(name="direct"),),
    timeline=TIMELINE,
)
ROWS = row_names(TIMELINE)
SHARE = Expectation(figure="fresh", comparison="==", value=1, is_share=True, fault="after sick")


def phase(requests: float, fresh: float, **more: float) -> Figures:
    return {"requests": requests, "fresh": fresh, "error": requests - fresh} | more


def run(repeat: int, *, after: Figures, note: str = "", recovered_ms: float = 5000) -> TimelineRun:
    return TimelineRun(
        client="direct",
        repeat=repeat,
        rows={
            "before": phase(20, 20),
            "sick": phase(30, 10, recovered_ms=recovered_ms),
            "after sick": after,
            "whole": phase(100, 80, budget_spent=20.0, worst_second=0.1, worst_second_at_s=3.0),
        },
        has_breaker=False,
        note=note,
    )


def test_a_share_is_of_each_runs_own_requests() -> None:
    """Of 49, 50 and 51 requests all were fresh: that is all of them, whatever the medians are."""
    runs = [run(n, after=phase(size, size)) for n, size in enumerate((49, 51, 50, 50), start=1)]
    summaries = summarise(runs, rows=ROWS, clients=["direct"])

    [outcome] = check(runs, [SHARE], summaries)

    assert (outcome.value, outcome.holds) == (1, True)


def test_one_lost_reply_in_one_of_many_runs_is_not_all_of_them() -> None:
    runs = [run(n, after=phase(50_000, 50_000 - (n == 2))) for n in (1, 2, 3)]
    summaries = summarise(runs, rows=ROWS, clients=["direct"])

    [outcome] = check(runs, [SHARE], summaries)

    assert (outcome.value, outcome.holds, outcome.is_of_one_run) == (49_999 / 50_000, False, True)


def test_a_marked_run_is_told_of_and_counts_for_nothing() -> None:
    runs = [
        run(1, after=phase(50, 50)),
        run(2, after=phase(50, 0), note="its event loop was 40 ms late (p99)"),
    ]
    summaries = summarise(runs, rows=ROWS, clients=["direct"])

    [outcome] = check(runs, [SHARE], summaries)

    assert {(row.runs, row.marked) for row in summaries} == {(1, 1)}
    assert outcome.holds


@pytest.mark.parametrize(("bound_ms", "holds"), [(5001, True), (5000, False)])
def test_an_expectation_without_a_phase_speaks_of_each_row_with_its_figure(
    bound_ms: float, *, holds: bool
) -> None:
    runs = [run(1, after=phase(50, 50))]
    expected = Expectation(figure="recovered_ms", comparison="<", value=bound_ms)

    outcomes = check(runs, [expected], summarise(runs, rows=ROWS, clients=["direct"]))

    assert [(each.fault, each.holds) for each in outcomes] == [("sick", holds)]


def test_a_figure_that_is_not_available_does_not_hold() -> None:
    runs = [run(1, after=phase(50, 50))]
    expected = Expectation(figure="recovered_ms", comparison="<", value=1e9, fault="before")

    [outcome] = check(runs, [expected], summarise(runs, rows=ROWS, clients=["direct"]))

    assert not outcome.holds


def page(language: str, runs: list[TimelineRun]) -> str:
    summaries = summarise(runs, rows=ROWS, clients=["direct"])
    report = TimelineReport(
        experiment=EXPERIMENT,
        timeline=TIMELINE,
        runs=runs,
        summaries=summaries,
        verdicts=(),
        outcomes=check(runs, [replace(SHARE, fault="sick")], summaries),
    )
    return markdown(page_of(report, LANGUAGES[language], TIMELINE_LANGUAGES[language]))


def test_the_page_says_what_each_phase_did_how_it_ended_and_what_it_cost() -> None:
    runs = [run(n, after=phase(50, 50), recovered_ms=ms) for n, ms in ((1, 5000), (2, 5200))]

    text = page("en", [*runs, run(3, after=phase(50, 50), note="saturated")])

    assert "| sick | 30 | 10 | 20 |" in text
    assert "| sick | n/a | n/a | n/a | n/a | 5100, 5000–5200 | n/a |" in text  # noqa: RUF001
    assert "| whole | 2000 % | 10 % | 3 |" in text
    assert "Detected: the first reply that was not fresh" in text
    assert "- direct, run 3, is not counted: saturated" in text
    assert "- sick / direct, Fresh: 33.33 %, expected == 100 %" in text


def test_a_share_of_a_budget_is_not_rounded_to_none_of_it_or_all() -> None:
    small, large = phase(50_000, 50_000), phase(50_000, 49_999)
    small |= {"budget_spent": 0.00002, "worst_second": 0.99998, "worst_second_at_s": 3.0}
    runs = [replace(run(1, after=large), rows={**run(1, after=large).rows, "whole": small})]

    assert r"| whole | \<0.01 % | \>99.99 % | 3 |" in page("en", runs)


def test_the_page_has_each_word_in_ukrainian() -> None:
    text = page("uk", [run(1, after=phase(50, 50))])

    assert "| Фаза | Запитів | Свіжі | Помилки |" in text
    assert "Виявлено: перша відповідь, що не fresh" in text


def test_a_table_too_wide_for_the_terminal_becomes_several_with_the_same_rows() -> None:
    runs = [run(1, after=phase(50, 50), recovered_ms=5000)]
    summaries = summarise(runs, rows=ROWS, clients=["direct"])
    report = TimelineReport(
        experiment=EXPERIMENT,
        timeline=TIMELINE,
        runs=runs,
        summaries=summaries,
        verdicts=(),
        outcomes=(),
    )
    console = Console(width=60, file=io.StringIO())

    console.print(TerminalPage(page=page_of(report, LANGUAGES["en"], TIMELINE_LANGUAGES["en"])))

    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    phases, _, _ = shown.partition("From each event")
    assert phases.count("\nbefore ") == phases.count("\nsick ") == 2
    assert "Requests:" not in phases


@pytest.mark.parametrize("width", [200, 100, 60, 30])
def test_no_figure_is_cut_however_narrow_the_terminal(width: int) -> None:
    runs = [run(n, after=phase(50, 50), recovered_ms=ms) for n, ms in ((1, 5000), (2, 5200))]
    summaries = summarise(runs, rows=ROWS, clients=["direct"])
    report = TimelineReport(
        experiment=EXPERIMENT,
        timeline=TIMELINE,
        runs=runs,
        summaries=summaries,
        verdicts=(),
        outcomes=(),
    )
    console = Console(width=width, file=io.StringIO())

    console.print(TerminalPage(page=page_of(report, LANGUAGES["en"], TIMELINE_LANGUAGES["en"])))

    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert "5100, 5000–5200" in " ".join(shown.split())  # noqa: RUF001
    assert max(map(len, shown.splitlines())) <= width
