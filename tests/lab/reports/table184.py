"""The report on a run of Table 18.4 that was made by hand."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from lab.reports import Report
from lab.spec.expectations import Expectation, Names, read_reference
from lab.spec.fault_documents import ChaosFault
from lab.spec.faults import Condition
from lab.summary import summarise
from lab.touches import touch_columns
from lab.verdicts import check, judge
from tests.lab.runs_file import table184_rows, write_runs

REFERENCE = Path(__file__).parents[3] / "experiments" / "table184.reference.csv"
CLASSES = ("fresh", "stale")
DOCUMENTS: Mapping[str, Mapping[str, object]] = {
    "30 % replies 500": {"failure": 0.3},
    "70 % replies 500": {"failure": 0.7},
    "500 ms delay": {"delayMs": 500},
}
CONDITIONS = tuple(
    Condition(name=name, faults=(ChaosFault(service="rates", document=document),))
    for name, document in DOCUMENTS.items()
)
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
    summaries = summarise(runs, classes=CLASSES, touched=touch_columns(1))
    names = Names(
        faults=(
            *("none", "30 % replies 500", "70 % replies 500", "500 ms delay"),
            "rates stopped",
        ),
        clients=("resilient", "raw"),
        classes=CLASSES,
    )
    return Report(
        title=title or "Table 18.4. Converter replies (200 requests, 4 tasks), median of 5 runs",
        classes=CLASSES,
        conditions=CONDITIONS,
        summaries=summaries,
        verdicts=judge(summaries, read_reference(REFERENCE, names)),
        outcomes=check(summaries, EXPECTATIONS),
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
    return replace(make_report(folder, rows), title="A *bad* [red]run[/red] | 1 < 2")
