"""What stands in the table: a row a cell, each figure beside what was published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.spec.faults import Condition
from lab.summary import CellSummary, Spread
from lab.sweep import SweepRow
from lab.verdicts import Outcome, Verdict
from loadgen.outcomes import ERROR_CLASS


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a report is made of; how it looks is decided elsewhere."""

    title: str
    classes: tuple[str, ...]  # outcome classes without `error`, in the order of the columns
    summaries: tuple[CellSummary, ...]
    names: tuple[str, ...] = ()  # of the requests of a mix
    conditions: tuple[Condition, ...] = ()  # of the cells: what their faults are
    sweep: tuple[SweepRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """The columns after the fault and the client."""
        speed = ("mean_ms", "p95_ms", "requests_per_s", "attempts_per_request")
        return (*self.classes, ERROR_CLASS, *speed)

    @property
    def is_sweep_only(self) -> bool:
        """Whether every cell belongs to a sweep, which has a table of its own."""
        return bool(self.sweep) and len(self.sweep) == len(self.summaries)

    def rows(self) -> Iterator["Row"]:
        """Yield a row a cell, in the order of the summaries; those of a sweep stand apart."""
        swept = {row.client.name for row in self.sweep}
        verdicts = {
            (each.published.fault, each.published.client, each.published.figure): each
            for each in self.verdicts
        }
        for summary in self.summaries:
            if summary.client in swept:
                continue
            yield Row(
                summary=summary,
                entries=tuple(
                    Entry(
                        figure=figure,
                        spread=summary.figures.get(figure),
                        verdict=verdicts.get((summary.fault, summary.client, figure)),
                    )
                    for figure in self.figures
                ),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One figure of one cell; no spread: not available, no verdict: nothing was published."""

    figure: str
    spread: Spread | None
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell of the experiment."""

    summary: CellSummary
    entries: Sequence[Entry]
