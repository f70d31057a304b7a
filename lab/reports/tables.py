"""Tables below the main one: requests of a mix, what faults touched, what a sweep came to."""

from collections.abc import Iterator
from dataclasses import dataclass

from lab.reports.content import Report
from lab.reports.numbers import write, write_share, write_share_spread, write_spread
from lab.reports.wording import Words
from lab.spec.expectations import REQUEST_FIGURES
from lab.spec.faults import label
from lab.spec.outcome import TOUCH_FIGURES
from lab.summary import Spread
from lab.sweep import COSTS, SweepRow
from lab.touches import column, may_count
from loadgen.outcomes import ERROR_CLASS


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTable:
    """Words in rows; the first `names` columns are names, the others figures."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int
    note: str = ""


def small_tables(report: Report, words: Words) -> Iterator[SmallTable]:
    """Yield the tables that the report has reason for."""
    if report.names:
        yield _by_request(report, words)
    if touched := tuple(_touched_rows(report, words)):
        yield SmallTable(
            title=words.by_touched,
            headings=(
                *(words.fault, words.client, words.of_fault),
                *(words.heading(figure) for figure in TOUCH_FIGURES),
            ),
            rows=touched,
            names=3,
            note=words.how_to_read_touched,
        )
    for sweep in dict.fromkeys(row.client.sweep for row in report.sweep):
        rows = [row for row in report.sweep if row.client.sweep == sweep]
        yield _of_sweep(sweep, rows, report.classes, words)


def _by_request(report: Report, words: Words) -> SmallTable:
    figures = ("requests", *report.classes, ERROR_CLASS, *REQUEST_FIGURES)
    return SmallTable(
        title=words.by_request,
        headings=(words.fault, words.client, words.request, *map(words.heading, figures)),
        rows=tuple(
            (
                *(words.name(each) for each in (summary.fault, summary.client)),
                name,
                *(_of_request(report, place, f"{name}.{figure}", words) for figure in figures),
            )
            for place, summary in enumerate(report.summaries)
            for name in report.names
        ),
        names=3,
    )


def _touched_rows(report: Report, words: Words) -> Iterator[tuple[str, ...]]:
    """Yield a row for each fault of a cell that tells what it touched."""
    faults = {each.name: may_count(each.faults) for each in report.conditions}
    for summary in report.summaries:
        for number, fault in enumerate(faults.get(summary.fault, ())):
            figures = {each: summary.figures.get(column(each, number)) for each in TOUCH_FIGURES}
            if figures["touched"] is not None:
                yield (
                    *(words.name(each) for each in (summary.fault, summary.client)),
                    label(fault),
                    *(_figure(figure, spread, words) for figure, spread in figures.items()),
                )


def _figure(figure: str, spread: Spread | None, words: Words) -> str:
    """Return for instance `61, 55-66`; empty where there is no such figure."""
    if spread is None:
        return ""
    return _with_ends(write(figure, spread.median, words), write_spread(figure, spread, words))


def _of_request(report: Report, place: int, figure: str, words: Words) -> str:
    return _figure(figure, report.summaries[place].figures.get(figure), words) or words.missing


def _share(spread: Spread | None, words: Words) -> str:
    if spread is None:
        return words.missing
    return _with_ends(write_share(spread.median, words), write_share_spread(spread, words))


def _with_ends(median: str, ends: str) -> str:
    return f"{median}, {ends}" if ends else median


def _of_sweep(
    sweep: str, rows: list[SweepRow], classes: tuple[str, ...], words: Words
) -> SmallTable:
    settings = [name.replace("_", " ") for name in rows[0].client.settings]
    figures = (*classes, ERROR_CLASS, *COSTS)
    return SmallTable(
        title=words.of_sweep.format(sweep=words.name(sweep)),
        headings=(words.fault, *settings, *map(words.heading, figures), words.unbeaten),
        rows=tuple(_sweep_row(row, classes, words) for row in rows),
        names=1 + len(settings),
        note=words.how_to_read_sweep.format(wanted=words.heading(classes[0])),
    )


def _sweep_row(row: SweepRow, classes: tuple[str, ...], words: Words) -> tuple[str, ...]:
    costs = ((cost, row.costs.get(cost)) for cost in COSTS)
    return (
        words.name(row.fault),
        *row.client.settings.values(),
        *(_share(row.shares.get(name), words) for name in (*classes, ERROR_CLASS)),
        *(words.missing if value is None else write(cost, value, words) for cost, value in costs),
        words.yes if row.is_unbeaten else "",
    )
