"""What runs now, how much is done and how long it will still take, on standard error.

A terminal gets one line that is redrawn; anything else gets a line for each finished run, and for
each thing that happens in a timeline. Nothing is drawn by a thread or a timer: the load is sent by
another process, and this one wakes only when that has something to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lab.results.figures import Figures
from lab.results.record import Run
from lab.run.loads import STEADY_STATE_TASKS
from lab.run.plan import Cell
from lab.spec.experiment import Experiment
from loadgen import significant
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR

BAR_WIDTH = 20
BETWEEN_CELLS_S = 3.0  # a fresh start of the services
UNKNOWN_RUN_S = 1.0


class Estimate:
    """How long the rest will take: known from the cell itself, else from published means."""

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

    def add_run(self, cell: Cell, duration_s: float) -> None:
        """Learn from a finished run."""
        self._seen_s.setdefault(_key(cell), []).append(duration_s)

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
        if cell.timeline is None and (seen := self._seen_s.get(_key(cell))):
            return sum(seen) / len(seen)
        if cell.planned_s is not None:
            return cell.planned_s
        mean_ms = self._published_ms.get(_key(cell))
        if mean_ms is not None and cell.requests is not None and cell.tasks is not None:
            return cell.requests / cell.tasks * mean_ms / 1000
        return UNKNOWN_RUN_S


def _key(cell: Cell) -> tuple[str, str]:
    return cell.condition.name, cell.client.name


class Progress:
    """Told what happens by the runner; shows it on *console*."""

    def __init__(self, experiment: Experiment, cells: Sequence[Cell], console: Console) -> None:
        self._cells = cells
        self._classes = experiment.outcome.classes
        self._estimate = Estimate(experiment, cells)
        self._console = console
        self._live: Live | None = None
        self._position = -1
        self._loads_done = 0
        self._is_steady = False  # whether this cell's steady state is behind it
        self._step = ""
        self._requests = 0
        self._finished = 0
        self._runs_done = 0
        self._runs_planned = sum(cell.repeats for cell in cells)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the line while the block runs, if there is a terminal to show it on."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def announce(self, size: str) -> None:
        """Tell what is planned and how long it may take, before anything starts."""
        self._say(f"{size}, about {in_words(self._estimate.left_s(0, 0, is_steady=False))}")

    def begin_cell(self, cell: Cell) -> None:
        """Note that *cell* begins."""
        self._position = self._cells.index(cell)
        self._loads_done = 0
        self._is_steady = False

    def step(self, what: str, requests: int = 0) -> None:
        """Note what is done now, and of how many requests it consists."""
        self._step, self._requests, self._finished = what, requests, 0
        self._draw()

    def finished(self, requests: int) -> None:
        """Note how many requests of this step have finished."""
        self._finished = requests
        self._draw()

    def tell(self, what: str, fields: Mapping[str, object]) -> None:
        """Note something that happened at a moment of the run: `at_s`."""
        cell = self._cells[self._position]
        if what == "load.interrupted":
            where = f"{self._step} of {cell.condition.name}, {cell.client.name}"
            self._say(f"interrupted in {where}: {fields['name']}")
            return
        name = fields.get("name", fields.get("state", ""))
        self._say(f"{fields['at_s']:8.2f} s  {what} {name}".rstrip())

    def end_steady_state(self, duration_s: float) -> None:
        """Note that the steady state has held."""
        self._is_steady = True
        self._estimate.add_steady_state(self._cells[self._position].client.name, duration_s)

    def end_warmup(self) -> None:
        """Note that a load that does not count has finished."""
        self._loads_done += 1

    def end_run(self, run: Run, cell: Cell, figures: Figures) -> None:
        """Note a finished run, and tell the figures of the whole of it."""
        self._loads_done += 1
        self._runs_done += 1
        self._estimate.add_run(cell, figures.get("duration_s", UNKNOWN_RUN_S))
        self._say(self._run_line(run, cell, figures))
        self._draw()

    def _say(self, text: str) -> None:
        with suppress(OSError):  # whoever watched has gone away; the run goes on
            self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _run_line(self, run: Run, cell: Cell, figures: Figures) -> str:
        names = [*self._classes, ERROR_CLASS, GENERATOR_ERROR]
        counts = ", ".join(f"{figures[name]} {name}" for name in names if figures.get(name))
        mean_ms = figures.get("mean_ms")
        mean = "" if mean_ms is None else f", mean {significant(mean_ms, 2)} ms"
        left = "" if self._live else f"  (about {self._time_left()} left)"
        note = f"  NOT COUNTED: {run.note}" if run.note else ""
        return (
            f"[{self._runs_done}/{self._runs_planned}] {cell.condition.name}, {run.client}, "
            f"run {run.repeat}: {counts}{mean}{note}{left}"
        )

    def _time_left(self) -> str:
        left_s = self._estimate.left_s(self._position, self._loads_done, is_steady=self._is_steady)
        return in_words(left_s)

    def _draw(self) -> None:
        if self._live is None:
            return
        cell = self._cells[self._position]
        filled = BAR_WIDTH * self._runs_done // max(1, self._runs_planned)
        requests = f" {self._finished}/{self._requests} requests" if self._requests else ""
        line = Table.grid(padding=(0, 1))
        line.add_row(
            Text("█" * filled + "░" * (BAR_WIDTH - filled), style="cyan"),
            Text(f"{self._runs_done}/{self._runs_planned} runs"),
            Text(f"{cell.condition.name}, {cell.client.name}", style="bold"),
            Text(f"{self._step}{requests}"),
            Text(f"about {self._time_left()} left", style="dim"),
        )
        self._live.update(line, refresh=True)


def in_words(seconds: float) -> str:
    """Return a duration as a person says it: `8 s`, `2 min 40 s`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
