"""The report of a timeline: what its tables say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.reports import Report, Words
from lab.reports.numbers import (
    write,
    write_plain,
    write_share,
    write_share_spread,
    write_spread,
)
from lab.reports.remarks import remarks
from lab.spec.experiment import Experiment
from lab.spec.timeline import WHOLE, Timeline
from lab.summary import CellSummary, Spread
from lab.timeline.figures import SENDING_FIGURES
from lab.timeline.page import Page, Section
from lab.timeline.phases import phase_names
from lab.timeline.recovery import EVENT_FIGURES
from lab.timeline.runner import TimelineRun
from lab.timeline.wording import TimelineWords
from lab.touches import columns_for
from lab.verdicts import Agreement, Outcome, Verdict
from loadgen.outcomes import ERROR_CLASS

_PERCENTILES = ("p50_ms", "p99_ms", "max_ms")
_MARKS = {Agreement.INSIDE: "✓", Agreement.OUTSIDE: "✗", Agreement.NOT_AVAILABLE: "✗"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineReport:
    """All that a report is made of."""

    experiment: Experiment
    timeline: Timeline
    runs: Sequence[TimelineRun]
    summaries: Sequence[CellSummary]
    verdicts: tuple[Verdict, ...]
    outcomes: tuple[Outcome, ...]


def page_of(report: TimelineReport, words: Words, own: TimelineWords) -> Page:
    """Return the report as text, ready to be laid out."""
    return Page(
        title=words.name(report.experiment.title),
        sections=[each for each in _Sections(report, words, own).all() if each.rows],
        remarks=_remarks(report, words, own),
    )


class _Sections:
    """Makes the tables of one report in one language."""

    def __init__(self, report: TimelineReport, words: Words, own: TimelineWords) -> None:
        self._report = report
        self._words = words
        self._own = own
        self._has_clients = len({row.client for row in report.summaries}) > 1
        self._verdicts = {
            (each.published.fault, each.published.client, each.published.figure): each
            for each in report.verdicts
        }

    def all(self) -> Iterator[Section]:
        """Yield the tables in order."""
        timeline, own = self._report.timeline, self._own
        counts = ("requests", *self._report.experiment.outcome.classes, ERROR_CLASS)
        budget = ("budget_spent",) if timeline.objective else ()
        worst = (*budget, "worst_second", "worst_second_at_s")
        if timeline.bursts:
            names = [burst.name for burst in timeline.bursts]
            yield self._section(own.bursts_title, own.burst, names, (*counts, *_PERCENTILES))
        else:
            figures = (*counts, *_PERCENTILES, *SENDING_FIGURES, *budget)
            names = [*phase_names(timeline), WHOLE]
            yield self._section(own.phases_title, own.phase, names, figures)
            names = [event.name for event in timeline.events]
            touched = columns_for(event.faults for event in timeline.events)
            known = {figure for row in self._report.summaries for figure in row.figures}
            figures = (*EVENT_FIGURES, *(each for each in touched if each in known))
            yield self._section(own.events_title, own.event, names, figures)
            yield self._section(own.whole_title, own.phase, [WHOLE], worst)

    def _section(
        self, title: str, what: str, names: Sequence[str], figures: Sequence[str]
    ) -> Section:
        named = [what, self._words.client] if self._has_clients else [what]
        summaries = [row for name in names for row in self._report.summaries if row.fault == name]
        return Section(
            title=title,
            names=len(named),
            headings=[*named, *(self._own.heading(figure, self._words) for figure in figures)],
            rows=[
                [self._words.name(row.fault), self._words.name(row.client)][: len(named)]
                + [self._entry(figure, row) for figure in figures]
                for row in summaries
            ],
        )

    def _entry(self, figure: str, row: CellSummary) -> str:
        verdict = self._verdicts.get((row.fault, row.client, figure))
        return _entry(figure, row, verdict, self._words)


def _entry(figure: str, row: CellSummary, verdict: Verdict | None, words: Words) -> str:
    """Return for instance `97 ✓ (97), 95-98`."""
    spread = row.figures.get(figure)
    text, ends = (words.missing, "") if spread is None else _written(figure, spread, words)
    if verdict is not None:
        published = write_plain(verdict.published.published, words)
        text += f" {_MARKS[verdict.agreement]} ({published})"
    return text + (f", {ends}" if ends else "")


def _written(figure: str, spread: Spread, words: Words) -> tuple[str, str]:
    if figure not in {"budget_spent", "worst_second"} and not figure.startswith("share_"):
        return write(figure, spread.median, words), write_spread(figure, spread, words)
    return write_share(spread.median, words), write_share_spread(spread, words)


def _remarks(report: TimelineReport, words: Words, own: TimelineWords) -> list[str]:
    has_breaker = any(run.has_breaker for run in report.runs)
    detected = (own.by_breaker if has_breaker else own.by_reply).format(
        well=report.experiment.outcome.classes[0]
    )
    held = Report(
        title="", classes=(), summaries=(), verdicts=report.verdicts, outcomes=report.outcomes
    )
    counted = max((row.runs for row in report.summaries), default=0)
    return [
        own.how_to_read,
        *([detected] if report.timeline.events and report.timeline.stages else []),
        own.runs_line.format(runs=counted),
        *(
            "- " + own.marked_line.format(client=run.client, repeat=run.repeat, note=run.note)
            for run in report.runs
            if run.note
        ),
        *remarks(held, words),
    ]
