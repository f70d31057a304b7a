"""One line that says how far a load is, while it is sent."""

import os
import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from loadgen.command.loads import planned
from loadgen.load import Load
from loadgen.numbers import percent, significant
from loadgen.outcomes import ERROR_CLASS
from loadgen.samples import Samples

TERMINAL_EVERY_S, PLAIN_EVERY_S = 0.5, 1.0
LONGEST_FAREWELL_S = 0.5
RECENT = 1000
CLEAR = "\r\x1b[K"


class Progress(NamedTuple):
    """How many requests have ended, and which share of the last ones failed; None: not known."""

    finished: int
    failing: float | None = None


def progress_of(samples: Samples) -> Progress:
    """Return the progress of a load whose samples grow meanwhile.

    It looks at the last RECENT of them only: to count them all would stop the loop that sends, as
    threads take turns, for longer than many a request takes.
    """
    finished = len(samples)
    recent = samples.count_endings(since=max(0, finished - RECENT))
    errors = sum(n for ending, n in recent.items() if ending.outcome == ERROR_CLASS)
    return Progress(finished, errors / recent.total() if recent else None)


class LiveLine:
    """Writes the line from a thread of its own until the block ends.

    A terminal that is stopped, or a pipe that nobody reads, blocks this thread and not the loop
    that sends the load. On a terminal the line is written over and is gone at the end; elsewhere it
    is one plain line a second.
    """

    def __init__(
        self, load: Load, progress: Callable[[], Progress], *, descriptor: int, label: str = ""
    ) -> None:
        self._label = label
        self._planned = planned(load)
        self._progress = progress
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(LONGEST_FAREWELL_S)

    def _run(self) -> None:
        began, before, counted = monotonic(), monotonic(), 0
        try:
            while not self._over.wait(TERMINAL_EVERY_S if self._is_terminal else PLAIN_EVERY_S):
                progress, now = self._progress(), monotonic()
                rate_per_s = (progress.finished - counted) / (now - before)
                line = progress_line(now - began, self._planned, progress, rate_per_s)
                self._write(self._label + line)
                before, counted = now, progress.finished
            if self._is_terminal:
                os.write(self._descriptor, CLEAR.encode())
        except OSError:
            pass  # nobody reads it any more

    def _write(self, line: str) -> None:
        text = f"{CLEAR}{line}" if self._is_terminal else f"{line}\n"
        os.write(self._descriptor, text.encode())


def progress_line(elapsed_s: float, planned: str, progress: Progress, rate_per_s: float) -> str:
    """Return for instance `12 s of 30 s: 4800 requests, 401/s, errors 0.3 % of late`."""
    errors = "" if progress.failing is None else f", errors {percent(progress.failing)} of late"
    rate = significant(rate_per_s, 2)
    return f"{elapsed_s:.0f} s{planned}: {progress.finished} requests, {rate}/s{errors}"
