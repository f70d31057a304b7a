"""How long the rest of a run will take: known from the cell itself, else from published means."""

from collections.abc import Sequence

from lab.loads import STEADY_STATE_TASKS
from lab.plan import Cell
from lab.spec.experiment import Experiment

BETWEEN_CELLS_S = 3.0  # a fresh start of the services
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
        self._steady = experiment.steady_state
        self._steady_s: dict[str, float] = {}  # the last one of each client
        self._healthy = {each.name for each in experiment.conditions if not each.faults}

    def add_run(self, fault: str, client: str, duration_s: float) -> None:
        """Learn from a finished run."""
        self._seen_s.setdefault((fault, client), []).append(duration_s)

    def add_steady_state(self, client: str, duration_s: float) -> None:
        """Learn from a steady state that held."""
        self._steady_s[client] = duration_s

    def left_s(self, position: int, loads_done: int, *, is_steady: bool = True) -> float:
        """Return the seconds left.

        Args:
            position: index of the cell that runs now.
            loads_done: how many of its loads, warm-up included, have finished.
            is_steady: whether its steady state has held, or is still to be tried.
        """
        cell, *later = self._cells[position:]
        loads_left = max(0, cell.warmup + cell.repeats - loads_done)
        steady_s = 0.0 if is_steady else self._steady_state_s(cell)
        left_s = steady_s + loads_left * self._run_s(cell)
        return left_s + sum(self._cell_s(other) for other in later)

    def _cell_s(self, cell: Cell) -> float:
        loads_s = (cell.warmup + cell.repeats) * self._run_s(cell)
        return BETWEEN_CELLS_S + self._steady_state_s(cell) + loads_s

    def _steady_state_s(self, cell: Cell) -> float:
        """Return how long it was the last time, or as published for the healthy system, or 0."""
        if self._steady is None:
            return 0.0
        if (seen_s := self._steady_s.get(cell.client.name)) is not None:
            return seen_s
        means_ms = (self._published_ms.get((name, cell.client.name)) for name in self._healthy)
        mean_ms = next((mean for mean in means_ms if mean is not None), 0.0)
        return self._steady.requests / (cell.tasks or STEADY_STATE_TASKS) * mean_ms / 1000

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
