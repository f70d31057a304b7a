"""Summaries held against published figures and against the experiment's expectations."""

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lab.results.figures import BUDGET_FIGURES
from lab.results.outline import Outline
from lab.results.summary import CellSummary, Spread
from lab.spec.expectations import Comparison, Expectation, PublishedFigure

_COMPARE: dict[Comparison, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class Agreement(StrEnum):
    """How our figure stands to the published one's band."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    NOT_AVAILABLE = "not available"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Our median beside a published figure; None if we have none."""

    published: PublishedFigure
    value: float | None

    @property
    def agreement(self) -> Agreement:
        """Whether the median lies in the band, whose ends belong to it."""
        if self.value is None:
            return Agreement.NOT_AVAILABLE
        inside = self.published.low <= self.value <= self.published.high
        return Agreement.INSIDE if inside else Agreement.OUTSIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An expectation in one of the cells that it speaks of."""

    expectation: Expectation
    fault: str
    client: str
    value: float | None  # in the expectation's unit: a share if it is one; None: not available
    is_of_one_run: bool = False  # the worst, where the expectation is of every run

    @property
    def holds(self) -> bool:
        """Whether the value is as expected; without one it is not."""
        if self.value is None:
            return False
        return _COMPARE[self.expectation.comparison](self.value, self.expectation.value)


def judge(
    summaries: Iterable[CellSummary], published: Sequence[PublishedFigure]
) -> tuple[Verdict, ...]:
    """Return a verdict for each figure that was published of the cells in *summaries*."""
    return tuple(
        Verdict(published=figure, value=_median(summary, figure.figure))
        for summary in summaries
        for figure in published
        if (figure.fault, figure.client) == (summary.fault, summary.client)
    )


def check(summaries: Sequence[CellSummary], outline: Outline) -> tuple[Outcome, ...]:
    """Return what became of each expectation in each cell of *summaries* that it speaks of.

    In a timeline, one that names no row speaks of all that have its figure.
    """
    return tuple(
        outcome_of(expectation, summary, _measured(summary, expectation))
        for expectation in outline.expectations
        for summary in summaries
        if expectation.client in {None, summary.client}
        and (expectation.fault == summary.fault or _speaks_of_all(expectation, summary, outline))
    )


def _speaks_of_all(expectation: Expectation, summary: CellSummary, outline: Outline) -> bool:
    if expectation.fault is not None:
        return False
    return outline.timeline is None or expectation.figure in summary.figures or not summary.runs


def outcome_of(expectation: Expectation, cell: CellSummary, spread: Spread | None) -> Outcome:
    """Return what became of an expectation in *cell*, whose figure is *spread* over the runs.

    It is held against the median; if it says none or all, against the run that is farthest from it.
    """
    value = None if spread is None else spread.median
    if spread is not None and expectation.says_none:
        value = spread.high
    elif spread is not None and expectation.says_all:
        value = spread.low
    return Outcome(
        expectation=expectation,
        fault=cell.fault,
        client=cell.client,
        value=value,
        is_of_one_run=spread is not None and value != spread.median,
    )


def _median(summary: CellSummary, figure: str) -> float | None:
    spread = summary.figures.get(figure)
    return None if spread is None else spread.median


def _measured(summary: CellSummary, expectation: Expectation) -> Spread | None:
    """Return the figure, as a share if the expectation is of one and the figure is a count."""
    if expectation.is_share and expectation.figure not in BUDGET_FIGURES:
        return summary.shares.get(expectation.figure)
    return summary.figures.get(expectation.figure)
