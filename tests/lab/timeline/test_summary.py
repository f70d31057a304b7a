"""Medians, expectations and the page of a timeline's runs made by hand."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from lab.reports import LANGUAGES, Report, TerminalReport, render_markdown
from lab.results.figures import Figures
from lab.results.outline import Outline, PlannedCell, RowOutline, TimelineOutline
from lab.results.record import ResultFolder, Run
from lab.results.summary import summarise
from lab.results.verdicts import Outcome, check
from lab.spec.expectations import Expectation

ROWS = ("before", "sick", "after sick", "whole")
SHARE = Expectation(figure="fresh", comparison="==", value=1, is_share=True, fault="after sick")
OUTLINE = Outline(
    title="Over time",
    classes=("fresh",),
    timeline=TimelineOutline(
        phases=ROWS[:3], bursts=(), events=(RowOutline(name="sick"),), has_objective=True
    ),
    cells=tuple(PlannedCell(fault=row, client="direct") for row in ROWS),
)


@dataclass(frozen=True)
class Made:
    """A run made by hand."""

    run: Run
    rows: dict[str, Figures]


def phase(requests: float, fresh: float, **more: float) -> Figures:
    return {"requests": requests, "fresh": fresh, "error": requests - fresh} | more


def run(repeat: int, *, after: Figures, note: str = "", recovered_ms: float = 5000) -> Made:
    return Made(
        Run(datetime.now(UTC), "direct", repeat, note),
        rows={
            "before": phase(20, 20),
            "sick": phase(30, 10, recovered_ms=recovered_ms),
            "after sick": after,
            "whole": phase(100, 80, budget_spent=20.0, worst_second=0.1, worst_second_at_s=3.0),
        },
    )


def report_of(folder: Path, runs: Sequence[Made], *expectations: Expectation) -> Report:
    """Return the report of runs that are on disk."""
    outline = replace(OUTLINE, expectations=expectations)
    result = ResultFolder(folder)
    for each in runs:
        result.add_run(each.run, outline, each.rows, {})
    summaries = summarise(folder / "runs.csv", outline)
    return Report(outline=outline, summaries=summaries, outcomes=check(summaries, outline))


def outcomes(folder: Path, runs: Sequence[Made], expected: Expectation) -> tuple[Outcome, ...]:
    return report_of(folder, runs, expected).outcomes


def test_a_share_is_of_each_runs_own_requests(tmp_path: Path) -> None:
    """Of 49, 50 and 51 requests all were fresh: that is all of them, whatever the medians are."""
    runs = [run(n, after=phase(size, size)) for n, size in enumerate((49, 51, 50, 50), start=1)]

    [outcome] = outcomes(tmp_path, runs, SHARE)

    assert (outcome.value, outcome.holds) == (1, True)


def test_one_lost_reply_in_one_of_many_runs_is_not_all_of_them(tmp_path: Path) -> None:
    runs = [run(n, after=phase(50_000, 50_000 - (n == 2))) for n in (1, 2, 3)]

    [outcome] = outcomes(tmp_path, runs, SHARE)

    assert (outcome.value, outcome.holds, outcome.is_of_one_run) == (49_999 / 50_000, False, True)


def test_a_marked_run_is_told_of_and_counts_for_nothing(tmp_path: Path) -> None:
    runs = [
        run(1, after=phase(50, 50)),
        run(2, after=phase(50, 0), note="its event loop was 40 ms late (p99)"),
    ]

    report = report_of(tmp_path, runs, SHARE)
    [outcome] = report.outcomes

    assert {(row.runs, row.marked) for row in report.summaries} == {(1, 1)}
    assert outcome.holds


@pytest.mark.parametrize(("bound_ms", "holds"), [(5001, True), (5000, False)])
def test_an_expectation_without_a_phase_speaks_of_each_row_with_its_figure(
    tmp_path: Path, bound_ms: float, *, holds: bool
) -> None:
    runs = [run(1, after=phase(50, 50))]
    expected = Expectation(figure="recovered_ms", comparison="<", value=bound_ms)

    found = outcomes(tmp_path, runs, expected)

    assert [(each.fault, each.holds) for each in found] == [("sick", holds)]


def test_a_figure_that_is_not_available_does_not_hold(tmp_path: Path) -> None:
    runs = [run(1, after=phase(50, 50))]
    expected = Expectation(figure="recovered_ms", comparison="<", value=1e9, fault="before")

    [outcome] = outcomes(tmp_path, runs, expected)

    assert not outcome.holds


def page(folder: Path, language: str, runs: list[Made]) -> str:
    return render_markdown(
        report_of(folder, runs, replace(SHARE, fault="sick")), LANGUAGES[language]
    )


def test_the_page_says_what_each_phase_did_how_it_ended_and_what_it_cost(tmp_path: Path) -> None:
    runs = [run(n, after=phase(50, 50), recovered_ms=ms) for n, ms in ((1, 5000), (2, 5200))]

    text = page(tmp_path, "en", [*runs, run(3, after=phase(50, 50), note="saturated")])

    assert "| sick | 30 | 10 | 20 |" in text
    assert "| sick | n/a | n/a | n/a | n/a | 5100, 5000–5200 | n/a |" in text  # noqa: RUF001
    assert "| whole | 2000 % | 10 % | 3 |" in text
    assert "Detected: the first reply that was not fresh" in text
    assert "- direct: runs that do not count: 1; saturated" in text
    assert "- sick / direct, Fresh: 33.33 %, expected == 100 %" in text


def test_a_share_of_a_budget_is_not_rounded_to_none_of_it_or_all(tmp_path: Path) -> None:
    small, large = phase(50_000, 50_000), phase(50_000, 49_999)
    small |= {"budget_spent": 0.00002, "worst_second": 0.99998, "worst_second_at_s": 3.0}
    runs = [replace(run(1, after=large), rows={**run(1, after=large).rows, "whole": small})]

    assert r"| whole | \<0.01 % | \>99.99 % | 3 |" in page(tmp_path, "en", runs)


def test_the_page_has_each_word_in_ukrainian(tmp_path: Path) -> None:
    text = page(tmp_path, "uk", [run(1, after=phase(50, 50))])

    assert "| Фаза | Запитів | Свіжі | Помилки |" in text
    assert "Виявлено: перша відповідь, що не fresh" in text


def test_a_table_too_wide_for_the_terminal_becomes_several_with_the_same_rows(
    tmp_path: Path,
) -> None:
    runs = [run(1, after=phase(50, 50), recovered_ms=5000)]
    console = Console(width=60, file=io.StringIO())

    console.print(TerminalReport(report=report_of(tmp_path, runs), words=LANGUAGES["en"]))

    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    phases, _, _ = shown.partition("From each event")
    assert phases.count("\nbefore ") == phases.count("\nsick ") == 2
    assert "Requests:" not in phases


@pytest.mark.parametrize("width", [200, 100, 60, 30])
def test_no_figure_is_cut_however_narrow_the_terminal(tmp_path: Path, width: int) -> None:
    runs = [run(n, after=phase(50, 50), recovered_ms=ms) for n, ms in ((1, 5000), (2, 5200))]
    console = Console(width=width, file=io.StringIO())

    console.print(TerminalReport(report=report_of(tmp_path, runs), words=LANGUAGES["en"]))

    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert "5100, 5000–5200" in " ".join(shown.split())  # noqa: RUF001
    assert max(map(len, shown.splitlines())) <= width
