"""Medians and spread of each cell's runs; the statistics come after all measuring is over."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lab.results.figures import REQUESTS, SENDING_FIGURES, figure_names
from lab.results.outline import Outline
from loadgen.outcomes import ERROR_CLASS

if TYPE_CHECKING:
    import pandas as pd

_SAME_IN_ALL_RUNS = (REQUESTS, "tasks", "asked_per_s", "duration_s", "attempts")


class RunsError(Exception):
    """A file of runs cannot be summarised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure over the runs of a cell, in the figure's own unit."""

    median: float
    low: float  # the smallest of the runs
    high: float  # the largest


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """What a cell's runs came to.

    `figures` holds outcome classes and `error` as counts and whatever of `SPEED_FIGURES` is
    available; a figure that is not has no entry. Those of one request of a mix have its name and
    a dot before them. `shares` holds the counts as shares of their run's requests.
    """

    fault: str
    client: str
    requests: int  # in one run; the median where that is not planned
    runs: int  # that count
    marked: int = 0  # runs that do not count: kept in the file, left out here
    why: tuple[str, ...] = ()  # their notes, each once
    figures: Mapping[str, Spread] = field(default_factory=lambda: MappingProxyType({}))
    shares: Mapping[str, Spread] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        """For people: the condition, then the client."""
        return f"{self.fault} / {self.client}"


def summarise(
    runs_csv: Path, outline: Outline, *, is_whole: bool = True
) -> tuple[CellSummary, ...]:
    """Return the summary of each cell from the file of runs.

    Args:
        runs_csv: columns `fault`, `client`, `note` and the figures of the outline; an empty value
            is not available; a run with a note is left out of every figure.
        outline: of the experiment.
        is_whole: whether all of its cells were to be run, so that one without any run is told as
            such; else the cells are those of the file, in its order.

    Raises:
        RunsError: the file cannot be read, lacks a column, or has a figure that is no number.
    """
    figures = figure_names(outline)
    runs = _read(runs_csv, figures)
    counted = runs[runs["note"] == ""]
    totals = dict(_totals(outline))
    shares = counted[[*totals]].div(counted[[*totals.values()]].to_numpy())
    spreads = _spreads(counted, counted[[*figures]])
    spreads_of_shares = _spreads(counted, shares)
    planned = {(cell.fault, cell.client): cell.requests for cell in outline.cells}
    known = dict.fromkeys(zip(runs["fault"], runs["client"], strict=True))
    return tuple(
        _summary(
            cell,
            planned.get(cell),
            runs[(runs["fault"] == cell[0]) & (runs["client"] == cell[1])],
            spreads.get(cell, {}),
            spreads_of_shares.get(cell, {}),
        )
        for cell in (planned if is_whole else known)
    )


def _totals(outline: Outline) -> Iterator[tuple[str, str]]:
    """Yield each figure that counts requests, and the figure of which it is a share."""
    counts = (*outline.classes, ERROR_CLASS)
    for prefix in ("", *(f"{name}." for name in outline.requests)):
        yield from ((f"{prefix}{name}", f"{prefix}{REQUESTS}") for name in counts)
    if outline.timeline:
        yield from ((name, REQUESTS) for name in (*SENDING_FIGURES, "unwell_after"))


def write_summary(summaries: Sequence[CellSummary], path: Path, outline: Outline) -> None:
    """Write the summaries as a new CSV: the median of each figure, then its `_min` and `_max`.

    Raises:
        FileExistsError: there is such a file; nothing is ever overwritten.
    """
    figures = [each for each in figure_names(outline) if each not in _SAME_IN_ALL_RUNS]
    columns = [f"{figure}{end}" for figure in figures for end in ("", "_min", "_max")]
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["fault", "client", "requests", "runs", *columns])
        writer.writerows(_row(summary, figures) for summary in summaries)


def _row(summary: CellSummary, figures: Sequence[str]) -> list[str]:
    spreads = [summary.figures.get(figure) for figure in figures]
    numbers = [
        "" if number is None else f"{number:.10g}"
        for spread in spreads
        for number in ((spread.median, spread.low, spread.high) if spread else (None,) * 3)
    ]
    return [summary.fault, summary.client, str(summary.requests), str(summary.runs), *numbers]


def _read(runs_csv: Path, figures: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415 - half a second that no other command should pay

    try:
        # As text: a condition may be called `null` or `007`, and stays so.
        runs = pd.read_csv(runs_csv, dtype=str, keep_default_na=False, encoding="utf-8")
        numbers = [*figures]
        runs[numbers] = runs[numbers].replace("", None).apply(pd.to_numeric)
        return runs[["fault", "client", "note", *numbers]]
    except (OSError, ValueError, KeyError) as error:
        message = f"{runs_csv} is no file of runs: {error}; name one that a run has left"
        raise RunsError(" ".join(message.split())) from error


def _spreads(
    runs: "pd.DataFrame", figures: "pd.DataFrame"
) -> dict[tuple[str, str], dict[str, Spread]]:
    """Return the spread of each figure that is available, by cell and name."""
    ends = figures.groupby([runs["fault"], runs["client"]]).agg(["median", "min", "max"])
    return {
        (str(cell[0]), str(cell[1])): {
            name: Spread(median=float(median), low=float(low), high=float(high))
            for name, (median, low, high) in zip(
                figures.columns, values.reshape(-1, 3), strict=True
            )
            if not math.isnan(median)  # no run has it
        }
        for cell, values in zip(ends.index, ends.to_numpy(), strict=True)
    }


def _summary(
    cell: tuple[str, str],
    planned: int | None,
    runs: "pd.DataFrame",
    figures: Mapping[str, Spread],
    shares: Mapping[str, Spread],
) -> CellSummary:
    counted = runs[runs["note"] == ""]
    requests = (counted if len(counted) else runs)[REQUESTS].dropna()
    typical = 0 if requests.empty else round(requests.median())
    return CellSummary(
        fault=cell[0],
        client=cell[1],
        requests=typical if planned is None else planned,
        runs=len(counted),
        marked=len(runs) - len(counted),
        why=tuple(dict.fromkeys(str(note) for note in runs["note"] if note)),
        figures=MappingProxyType(dict(figures)),
        shares=MappingProxyType(dict(shares)),
    )
