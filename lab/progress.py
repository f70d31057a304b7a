"""What runs now, how much is done and how long it will still take, on standard error.

A terminal gets one line that is redrawn; anything else gets a line for each finished run. Nothing
is drawn by a thread or a timer: the load is sent by another process, and this one wakes only when
that has something to say.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lab.estimate import Estimate, in_words
from lab.plan import Cell
from lab.record import RunRow
from loadgen import significant

BAR_WIDTH = 20


class Progress:
    """Told what happens by the runner; shows it on *console*."""

    def __init__(self, cells: Sequence[Cell], estimate: Estimate, console: Console) -> None:
        self._cells = cells
        self._estimate = estimate
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
        text = f"{size}, about {in_words(self._estimate.left_s(0, 0, is_steady=False))}"
        with suppress(OSError):  # nobody listens
            self._console.print(text, highlight=False, soft_wrap=True, markup=False)

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

    def end_steady_state(self, duration_s: float) -> None:
        """Note that the steady state has held."""
        self._is_steady = True
        self._estimate.add_steady_state(self._cells[self._position].client.name, duration_s)

    def end_warmup(self) -> None:
        """Note that a load that does not count has finished."""
        self._loads_done += 1

    def end_run(self, row: RunRow) -> None:
        """Note a finished run, and tell its figures."""
        self._loads_done += 1
        self._runs_done += 1
        self._estimate.add_run(row.fault, row.client, row.summary.duration_s)
        with suppress(OSError):  # whoever watched has gone away; the run goes on
            self._console.print(self._run_line(row), highlight=False, soft_wrap=True, markup=False)
        self._draw()

    def cut_short(self, what: str) -> None:
        """Tell what had become of the requests of a load that is not sent to its end."""
        with suppress(OSError):  # nobody listens
            cell = self._cells[self._position]
            where = f"{self._step} of {cell.condition.name}, {cell.client.name}"
            text = f"interrupted in {where}: {what}"
            self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _run_line(self, row: RunRow) -> str:
        summary = row.summary
        counts = ", ".join(f"{count} {name}" for name, count in summary.counts.items() if count)
        mean = "" if summary.mean_ms is None else f", mean {significant(summary.mean_ms, 2)} ms"
        left = "" if self._live else f"  (about {self._time_left()} left)"
        note = f"  NOT COUNTED: {row.note}" if row.note else ""
        return (
            f"[{self._runs_done}/{self._runs_planned}] {row.fault}, {row.client}, "
            f"run {row.repeat}: {counts}{mean}{note}{left}"
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
