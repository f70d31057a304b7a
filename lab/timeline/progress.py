"""What happens now, on standard error: a line for each thing that happens on the timeline."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console

from lab.estimate import in_words
from lab.spec.timeline import WHOLE, Timeline

if TYPE_CHECKING:
    from lab.timeline.runner import TimelineRun

BETWEEN_RUNS_S = 3.0  # a fresh start of the services


class TimelineProgress:
    """Told what happens by the runner; shows it on *console*."""

    def __init__(self, timeline: Timeline, runs: int, console: Console) -> None:
        self._run_s = timeline.duration_s + BETWEEN_RUNS_S
        self._steady_s = 0.0  # what the last steady state took
        self._runs = runs
        self._done = 0
        self._console = console

    def announce(self, size: str) -> None:
        """Tell what is planned, before anything starts."""
        self._say(f"{size}, about {in_words(self._runs * self._run_s)}")

    def begin_run(self, title: str) -> None:
        """Note that a run begins, and say how long all that is left will take."""
        left = in_words((self._runs - self._done) * (self._run_s + self._steady_s))
        self._say(f"[{self._done + 1}/{self._runs}] {title}  (about {left} left)")

    def end_steady_state(self, duration_s: float) -> None:
        """Note how long the steady state took, as each run has one."""
        self._steady_s = duration_s

    def tell(self, what: str, fields: Mapping[str, object]) -> None:
        """Note something that happened at the moment `at_s`."""
        name = fields.get("name", fields.get("state", ""))
        self._say(f"{fields['at_s']:8.2f} s  {what} {name}".rstrip())

    def end_run(self, run: "TimelineRun") -> None:
        """Note a finished run."""
        self._done += 1
        requests = run.rows[WHOLE]["requests"]
        note = f"  NOT COUNTED: {run.note}" if run.note else ""
        self._say(f"[{self._done}/{self._runs}] {requests:.0f} requests{note}")

    def _say(self, text: str) -> None:
        with suppress(OSError):  # whoever watched has gone away; the run goes on
            self._console.print(text, highlight=False, soft_wrap=True, markup=False)
