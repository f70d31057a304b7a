"""What a report says: its tables as sections, whatever they look like in the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.reports.numbers import write, write_share, write_share_spread
from lab.reports.words import Words
from lab.results.outline import Outline, TimelineOutline
from lab.results.recovery import EVENT_FIGURES
from lab.results.summary import CellSummary, Spread
from lab.results.sweep import COSTS, SweepRow
from lab.results.touches import column, touch_columns
from lab.results.verdicts import Outcome, Verdict
from lab.spec.expectations import REQUEST_FIGURES
from lab.spec.outcome import TOUCH_FIGURES
from lab.spec.timeline import WHOLE
from loadgen.outcomes import ERROR_CLASS

SPEED = ("mean_ms", "p95_ms", "requests_per_s", "attempts_per_request")
PERCENTILES = ("p50_ms", "p99_ms", "max_ms")
SENDING = ("not_sent", "sent_late")
BUDGET = ("budget_spent",)
WORST = ("worst_second", "worst_second_at_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a report is made of."""

    outline: Outline
    summaries: tuple[CellSummary, ...]
    sweep: tuple[SweepRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    has_breaker: bool = False  # whether a service told of its circuit


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One figure of one cell.

    No spread: it is not available; no verdict: nothing was published.
    """

    figure: str
    spread: Spread | None
    verdict: Verdict | None = None
    is_empty_if_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table; the first `names` columns name the row, the others are figures."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str | Entry, ...], ...]
    names: int
    title: str = ""  # the main table has none
    note: str = ""


def sections(report: Report, words: Words) -> list[Section]:
    """Return the tables that the report has reason for, in order."""
    timeline = report.outline.timeline
    found = _of_table(report, words) if timeline is None else _of_timeline(report, timeline, words)
    return [each for each in found if each.rows or not (each.title or report.sweep)]


def _of_table(report: Report, words: Words) -> Iterator[Section]:
    swept = {(row.fault, row.client.name) for row in report.sweep}
    rows = [each for each in report.summaries if (each.fault, each.client) not in swept]
    figures = (*report.outline.classes, ERROR_CLASS, *SPEED)
    yield _section(report, rows, figures, words)
    if report.outline.requests:
        yield _by_request(report, words)
    yield _touched(report, words)
    for sweep in dict.fromkeys(row.client.sweep for row in report.sweep):
        settings = [row for row in report.sweep if row.client.sweep == sweep]
        yield _of_sweep(sweep, settings, report.outline.classes, words)


def _section(
    report: Report,
    rows: Sequence[CellSummary],
    figures: Sequence[str],
    words: Words,
    *,
    title: str = "",
    row_heading: str = "",
) -> Section:
    """Return a table with one row per cell and one column per figure."""
    of_clients = not row_heading or len({each.client for each in report.summaries}) > 1
    verdicts = {
        (each.published.fault, each.published.client, each.published.figure): each
        for each in report.verdicts
    }
    names = [row_heading or words.fault, *([words.client] if of_clients else [])]
    return Section(
        title=title,
        names=len(names),
        headings=(*names, *map(words.heading, figures)),
        rows=tuple(
            (
                *(words.name(each) for each in (row.fault, row.client)[: len(names)]),
                *(
                    Entry(
                        figure=figure,
                        spread=row.figures.get(figure),
                        verdict=verdicts.get((row.fault, row.client, figure)),
                    )
                    for figure in figures
                ),
            )
            for row in rows
        ),
    )


def _by_request(report: Report, words: Words) -> Section:
    figures = ("requests", *report.outline.classes, ERROR_CLASS, *REQUEST_FIGURES)
    return Section(
        title=words.by_request,
        names=3,
        headings=(words.fault, words.client, words.request, *map(words.heading, figures)),
        rows=tuple(
            (
                *(words.name(each) for each in (row.fault, row.client)),
                name,
                *(Entry(figure=f, spread=row.figures.get(f"{name}.{f}")) for f in figures),
            )
            for row in report.summaries
            for name in report.outline.requests
        ),
    )


def _touched(report: Report, words: Words) -> Section:
    """Return a table with one row per fault of a cell that tells what it touched."""
    faults = {each.name: each.faults for each in report.outline.conditions}
    return Section(
        title=words.by_touched,
        names=3,
        headings=(words.fault, words.client, words.of_fault, *map(words.heading, TOUCH_FIGURES)),
        rows=tuple(
            (
                *(words.name(each) for each in (row.fault, row.client)),
                fault.label,
                *(
                    Entry(
                        figure=figure,
                        spread=row.figures.get(column(figure, number)),
                        is_empty_if_missing=True,
                    )
                    for figure in TOUCH_FIGURES
                ),
            )
            for row in report.summaries
            for number, fault in enumerate(faults.get(row.fault, ()))
            if column("touched", number) in row.figures
        ),
        note=words.how_to_read_touched,
    )


def _of_sweep(
    sweep: str, rows: Sequence[SweepRow], classes: tuple[str, ...], words: Words
) -> Section:
    settings = [name.replace("_", " ") for name in rows[0].client.settings]
    figures = (*classes, ERROR_CLASS, *COSTS)
    return Section(
        title=words.of_sweep.format(sweep=words.name(sweep)),
        names=1 + len(settings),
        headings=(words.fault, *settings, *map(words.heading, figures), words.unbeaten),
        rows=tuple(_sweep_row(row, classes, words) for row in rows),
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


def _share(spread: Spread | None, words: Words) -> str:
    if spread is None:
        return words.missing
    ends = write_share_spread(spread, words)
    return write_share(spread.median, words) + (f", {ends}" if ends else "")


def _of_timeline(report: Report, timeline: TimelineOutline, words: Words) -> Iterator[Section]:
    counts = ("requests", *report.outline.classes, ERROR_CLASS)
    budget = BUDGET if timeline.has_objective else ()

    def section(title: str, heading: str, rows: Sequence[str], figures: Sequence[str]) -> Section:
        summaries = [each for row in rows for each in report.summaries if each.fault == row]
        return _section(report, summaries, figures, words, title=title, row_heading=heading)

    if timeline.bursts:
        figures = (*counts, *PERCENTILES)
        yield section(words.bursts_title, words.burst, timeline.bursts, figures)
        return
    figures = (*counts, *PERCENTILES, *SENDING, *budget)
    yield section(words.phases_title, words.phase, [*timeline.phases, WHOLE], figures)
    known = {figure for row in report.summaries for figure in row.figures}
    touched = (each for each in touch_columns(report.outline.most_faults) if each in known)
    events = [event.name for event in timeline.events]
    yield section(words.events_title, words.event, events, (*EVENT_FIGURES, *touched))
    yield section(words.whole_title, words.phase, [WHOLE], (*budget, *WORST))
