"""Medians and spread of each row's runs, and the expectations held against them. Pure."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from types import MappingProxyType

from lab.spec.expectations import Expectation
from lab.spec.timeline import Timeline
from lab.summary import CellSummary, Spread
from lab.timeline.figures import BUDGET_FIGURES, REQUESTS, figure_names
from lab.timeline.runner import TimelineRun
from lab.verdicts import Outcome, outcome_of


def summarise(
    runs: Sequence[TimelineRun], *, rows: Sequence[str], clients: Iterable[str]
) -> tuple[CellSummary, ...]:
    """Return the summary of each row with each client; runs with a note are left out of it."""
    return tuple(
        _summary(row, client, [run for run in runs if run.client == client])
        for row in rows
        for client in clients
    )


def check(
    runs: Sequence[TimelineRun],
    expectations: Iterable[Expectation],
    summaries: Sequence[CellSummary],
) -> tuple[Outcome, ...]:
    """Return what became of each expectation in each row that it speaks of.

    One that names no phase speaks of all that have its figure. A share is that of each run's own
    requests, and then the median of these.
    """
    return tuple(
        outcome_of(
            expected,
            row,
            _spread(
                value
                for run in runs
                if run.client == row.client
                and not run.note
                and (value := _value(run.rows[row.fault], expected)) is not None
            ),
        )
        for expected in expectations
        for row in summaries
        if expected.client in {None, row.client}
        and (expected.fault == row.fault or _is_meant(expected, row))
    )


def write_summary(
    summaries: Sequence[CellSummary], path: Path, *, classes: Sequence[str], timeline: Timeline
) -> None:
    """Write the summaries as a new CSV: the median of each figure, then its `_min` and `_max`.

    Raises:
        FileExistsError: there is such a file; nothing is ever overwritten.
    """
    figures = [figure for figure in figure_names(classes, timeline) if figure != REQUESTS]
    columns = [f"{figure}{end}" for figure in figures for end in ("", "_min", "_max")]
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["fault", "client", "requests", "runs", *columns])
        for row in summaries:
            spreads = [row.figures.get(figure) for figure in figures]
            numbers = [number for spread in spreads for number in _numbers(spread)]
            writer.writerow([row.fault, row.client, row.requests, row.runs, *numbers])


def _numbers(spread: Spread | None) -> list[str]:
    if spread is None:
        return [""] * 3
    return [f"{number:.10g}" for number in (spread.median, spread.low, spread.high)]


def _summary(row: str, client: str, runs: Sequence[TimelineRun]) -> CellSummary:
    counted = [run.rows[row] for run in runs if not run.note]
    values = {
        figure: [figures[figure] for figures in counted if figure in figures]
        for figure in dict.fromkeys(figure for figures in counted for figure in figures)
    }
    return CellSummary(
        fault=row,
        client=client,
        requests=round(median(values[REQUESTS])) if values.get(REQUESTS) else 0,
        runs=len(counted),
        marked=len(runs) - len(counted),
        figures=MappingProxyType(
            {figure: spread for figure, each in values.items() if (spread := _spread(each))}
        ),
    )


def _is_meant(expected: Expectation, row: CellSummary) -> bool:
    return expected.fault is None and (expected.figure in row.figures or not row.runs)


def _value(figures: dict[str, float], expected: Expectation) -> float | None:
    value = figures.get(expected.figure)
    if value is None or not expected.is_share or expected.figure in BUDGET_FIGURES:
        return value
    return value / figures[REQUESTS] if figures.get(REQUESTS) else None


def _spread(values: Iterable[float]) -> Spread | None:
    found = list(values)
    if not found:
        return None
    return Spread(median=median(found), low=min(found), high=max(found))
