"""How long the rest of a run will take: known from the cell itself, else from published means."""

from collections.abc import Sequence

from lab.plan import Cell
from lab.spec.experiment import Experiment

BETWEEN_CELLS_S = 3.0  # a fresh start of the services and the steady state
UNKNOWN_RUN_S = 1.0


class Estimate:
    """Keeps the durations seen so far and adds up what is left."""

    def __init__(self, experiment: Experiment, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)
        self._published_ms = {
            (row.fault, row.client): row.published
            for row in experiment.published
            if row.figure == "mean_ms"
        }
        self._seen_s: dict[tuple[str, str], list[float]] = {}

    def add_run(self, fault: str, client: str, duration_s: float) -> None:
        """Learn from a finished run."""
        self._seen_s.setdefault((fault, client), []).append(duration_s)

    def left_s(self, position: int, loads_done: int) -> float:
        """Return the seconds left.

        Args:
            position: index of the cell that runs now.
            loads_done: how many of its loads, warm-up included, have finished.
        """
        cell, *later = self._cells[position:]
        loads_left = max(0, cell.warmup + cell.repeats - loads_done)
        return loads_left * self._run_s(cell) + sum(self._cell_s(other) for other in later)

    def _cell_s(self, cell: Cell) -> float:
        return BETWEEN_CELLS_S + (cell.warmup + cell.repeats) * self._run_s(cell)

    def _run_s(self, cell: Cell) -> float:
        key = (cell.condition.name, cell.client.name)
        if seen := self._seen_s.get(key):
            return sum(seen) / len(seen)
        if cell.planned_s is not None:
            return cell.planned_s
        mean_ms = self._published_ms.get(key)
        if mean_ms is not None and cell.requests is not None and cell.tasks is not None:
            return cell.requests / cell.tasks * mean_ms / 1000
        return UNKNOWN_RUN_S


def in_words(seconds: float) -> str:
    """Return a duration as a person says it: `8 s`, `2 min 40 s`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
