"""The report on a run of Table 18.4 that was made by hand."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from lab.reports import Report
from lab.results.summary import summarise
from lab.results.verdicts import check, judge
from lab.spec.expectations import Expectation, Names, read_reference
from tests.lab.runs_file import OUTLINE, table184_rows, write_runs

REFERENCE = Path(__file__).parents[3] / "experiments" / "table184.reference.csv"
EXPECTATIONS = (
    Expectation(figure="fresh", comparison="==", value=1, is_share=True, fault="none"),
    Expectation(figure="error", comparison="==", value=0, is_share=True, client="resilient"),
    Expectation(figure="mean_ms", comparison="<", value=50, client="resilient"),
)


def make_report(
    folder: Path, rows: Iterable[Mapping[str, str]], title: str | None = None
) -> Report:
    """Return the report on *rows*, held against the published figures."""
    runs = write_runs(folder / "runs.csv", rows)
    names = Names(
        faults=(
            *("none", "30 % replies 500", "70 % replies 500", "500 ms delay"),
            "rates stopped",
        ),
        clients=("resilient", "raw"),
        classes=OUTLINE.classes,
    )
    outline = replace(
        OUTLINE,
        title=title or "Table 18.4. Converter replies (200 requests, 4 tasks), median of 5 runs",
        published=read_reference(REFERENCE, names),
        expectations=EXPECTATIONS,
    )
    summaries = summarise(runs, outline, is_whole=False)
    return Report(
        outline=outline,
        summaries=summaries,
        verdicts=judge(summaries, outline.published),
        outcomes=check(summaries, outline),
    )


def good_report(folder: Path) -> Report:
    """Return a report with ten rows, all as published."""
    return make_report(folder, table184_rows())


def bad_report(folder: Path) -> Report:
    """Return a report with a figure outside, one missing, a run marked and expectations broken."""
    rows = table184_rows()[:10]
    for row in rows[:5]:
        row |= {"fresh": "197", "stale": "1", "error": "2", "mean_ms": ""}
    rows[9] |= {"note": "saturated"}
    return make_report(folder, rows, title="A *bad* [red]run[/red] | 1 < 2")
