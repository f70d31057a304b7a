"""Medians and spread of each cell's runs; the statistics come after all measuring is over."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lab.plan import Cell
from lab.spec.expectations import REQUEST_FIGURES
from lab.spec.outcome import SPEED_FIGURES
from loadgen.outcomes import ERROR_CLASS

if TYPE_CHECKING:
    import pandas as pd

SMALLEST_SAMPLE = {"p95_ms": 20, "p99_ms": 100}  # requests a run below which a percentile is noise


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
    runs_csv: Path,
    *,
    classes: Sequence[str],
    cells: Sequence[Cell] | None = None,
    names: Sequence[str] = (),
    touched: Sequence[str] = (),
) -> tuple[CellSummary, ...]:
    """Return the summary of each cell from the file of runs, a row a run.

    Args:
        runs_csv: columns `fault`, `client`, `requests`, `note`, each of *classes*, `error` and
            those of `SPEED_FIGURES`; an empty value is not available; a run with a note is left
            out of every figure.
        classes: outcome classes without `error`, as in the experiment.
        cells: what was planned, so that a cell without any run is told as such; without it, the
            cells are those of the file, in its order.
        names: the requests of a mix, each of which has columns of its own.
        touched: the columns of what faults touched.

    Raises:
        RunsError: the file cannot be read, lacks a column, or has a figure that is no number.
    """
    totals = {figure: total for total, figure in _counts(classes, names)}
    runs = _read(runs_csv, figures := (*figures_of(classes, names), *touched))
    groups = {_cell(group): group for _, group in runs.groupby(["fault", "client"], sort=False)}
    if cells is None:
        planned: dict[tuple[str, str], int | None] = dict.fromkeys(groups)
    else:
        planned = {(cell.condition.name, cell.client.name): cell.planned_requests for cell in cells}
    return tuple(
        _summary(key, requests, groups.get(key, runs.iloc[:0]), figures, totals)
        for key, requests in planned.items()
    )


def figures_of(classes: Sequence[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return all figures of a run, in the order of the columns."""
    of_one = ("requests", *classes, ERROR_CLASS, *REQUEST_FIGURES)
    each = (f"{name}.{figure}" for name in names for figure in of_one)
    return (*classes, ERROR_CLASS, *SPEED_FIGURES, *each)


def _counts(classes: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the column of a number of requests, and one of how many of them are of a class."""
    for prefix in ("", *(f"{name}." for name in names)):
        for name in (*classes, ERROR_CLASS):
            yield f"{prefix}requests", f"{prefix}{name}"


def write_summary(
    summaries: Sequence[CellSummary],
    path: Path,
    *,
    classes: Sequence[str],
    names: Sequence[str] = (),
    touched: Sequence[str] = (),
) -> None:
    """Write the summaries as a new CSV: the median of each figure, then its `_min` and `_max`.

    Raises:
        FileExistsError: there is such a file; nothing is ever overwritten.
    """
    figures = (*figures_of(classes, names), *touched)
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
        numbers = ["requests", *figures]
        runs[numbers] = runs[numbers].replace("", None).apply(pd.to_numeric)
        return runs[["fault", "client", "note", *numbers]]
    except (OSError, ValueError, KeyError) as error:
        message = f"{runs_csv} is no file of runs: {error}; name one that a run has left"
        raise RunsError(" ".join(message.split())) from error


def _cell(group: "pd.DataFrame") -> tuple[str, str]:
    return str(group["fault"].iloc[0]), str(group["client"].iloc[0])


def _summary(
    key: tuple[str, str],
    planned: int | None,
    runs: "pd.DataFrame",
    figures: Sequence[str],
    totals: Mapping[str, str],
) -> CellSummary:
    counted = runs[runs["note"] == ""]
    requests = _typical(counted["requests"] if len(counted) else runs["requests"], planned)
    spreads = {
        figure: _spread(counted[figure])
        for figure in figures
        if requests >= SMALLEST_SAMPLE.get(figure, 1)
    }
    shares = {count: _spread(counted[count] / counted[total]) for count, total in totals.items()}
    return CellSummary(
        fault=key[0],
        client=key[1],
        requests=requests,
        runs=len(counted),
        marked=len(runs) - len(counted),
        why=tuple(dict.fromkeys(str(note) for note in runs["note"] if note)),
        figures=_available(spreads),
        shares=_available(shares),
    )


def _typical(requests: "pd.Series[float]", planned: int | None) -> int:
    if planned is not None or requests.empty:
        return planned or 0
    return int(requests.median())


def _available(spreads: Mapping[str, Spread | None]) -> Mapping[str, Spread]:
    return MappingProxyType({name: spread for name, spread in spreads.items() if spread})


def _spread(values: "pd.Series[float]") -> Spread | None:
    values = values.dropna()
    if values.empty:
        return None
    return Spread(median=float(values.median()), low=float(values.min()), high=float(values.max()))
