"""What each setting of a sweep buys and costs, and which settings no other beats."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.results.outline import ClientOutline
from lab.results.summary import CellSummary, Spread
from loadgen.outcomes import ERROR_CLASS

COSTS = ("mean_ms", "p95_ms", "attempts_per_request")
_DIGITS = {"attempts_per_request": 2}  # to which costs are compared; times to a tenth of a ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One combination of settings under one fault, in medians."""

    fault: str
    client: ClientOutline
    shares: Mapping[str, Spread]  # of requests, 0..1, by class and `error`; empty: no run counts
    costs: Mapping[str, float]  # those of COSTS that are available
    is_unbeaten: bool


def sweep_rows(
    summaries: Sequence[CellSummary], clients: Iterable[ClientOutline], *, classes: Sequence[str]
) -> tuple[SweepRow, ...]:
    """Return a row for each cell of a sweep, in the order of the summaries.

    Args:
        summaries: of all cells.
        clients: of the experiment; those of no sweep are left out.
        classes: outcome classes without `error`; the first is what a setting is to buy.
    """
    wanted, names = classes[0], (*classes, ERROR_CLASS)
    swept = {client.name: client for client in clients if client.sweep}
    cells = [each for each in summaries if each.client in swept]
    groups: dict[tuple[str, str], list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault((cell.fault, swept[cell.client].sweep), []).append(cell)
    unbeaten = {
        (cell.fault, cell.client) for group in groups.values() for cell in _unbeaten(group, wanted)
    }
    return tuple(
        SweepRow(
            fault=cell.fault,
            client=swept[cell.client],
            shares={name: cell.shares[name] for name in names if name in cell.shares},
            costs={cost: cell.figures[cost].median for cost in COSTS if cost in cell.figures},
            is_unbeaten=(cell.fault, cell.client) in unbeaten,
        )
        for cell in cells
    )


def write_sweep(rows: Sequence[SweepRow], path: Path, *, classes: Sequence[str]) -> None:
    """Write the rows as a new CSV; a setting that a row's sweep does not have is empty.

    Raises:
        FileExistsError: there is such a file; nothing is ever overwritten.
    """
    names = (*classes, ERROR_CLASS)
    settings = list(dict.fromkeys(name for row in rows for name in row.client.settings))
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        shares = [f"{name}_share" for name in names]
        writer.writerow(["fault", "sweep", *settings, *shares, *COSTS, "unbeaten"])
        for row in rows:
            figures = [
                *(row.shares[name].median if name in row.shares else None for name in names),
                *(row.costs.get(cost) for cost in COSTS),
            ]
            writer.writerow(
                [
                    row.fault,
                    row.client.sweep,
                    *(row.client.settings.get(name, "") for name in settings),
                    *("" if figure is None else f"{figure:.10g}" for figure in figures),
                    "yes" if row.is_unbeaten else "no",
                ]
            )


def _unbeaten(group: Sequence[CellSummary], wanted: str) -> list[CellSummary]:
    """Return the Pareto front: cells that no other beats in one figure while it loses in none."""
    measured = [cell for cell in group if _share(cell, wanted) is not None]
    costs = [cost for cost in COSTS if all(cost in cell.figures for cell in measured)]
    prices = [_prices(cell, wanted, costs) for cell in measured]
    return [
        cell
        for cell, own in zip(measured, prices, strict=True)
        if not any(_beats(other, own) for other in prices)
    ]


def _prices(cell: CellSummary, wanted: str, costs: Sequence[str]) -> tuple[float, ...]:
    """Return figures of which less is better: the share exact, costs as a reader sees them."""
    return (
        1 - (_share(cell, wanted) or 0),
        *(round(cell.figures[cost].median, _DIGITS.get(cost, 1)) for cost in costs),
    )


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))


def _share(cell: CellSummary, wanted: str) -> float | None:
    share = cell.shares.get(wanted)
    return None if share is None else share.median
