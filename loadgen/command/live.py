"""One line that says how far a load is, while it is sent."""

import os
import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from loadgen.command.loads import planned
from loadgen.load import Load
from loadgen.outcomes import ERROR_CLASS
from loadgen.samples import Samples

TERMINAL_EVERY_S, PLAIN_EVERY_S = 0.5, 1.0
LONGEST_FAREWELL_S = 0.5
CLEAR = "\r\x1b[K"


class Progress(NamedTuple):
    """How many requests have ended; `errors` is None where that is not known yet."""

    finished: int
    errors: int | None = None


class SamplesProgress:
    """Follows samples that grow, looking at each new one once."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._seen = self._errors = 0

    def __call__(self) -> Progress:
        """Return the progress so far."""
        new = self._samples.count_endings(since=self._seen)
        self._seen += new.total()
        self._errors += sum(n for ending, n in new.items() if ending.outcome == ERROR_CLASS)
        return Progress(self._seen, self._errors)


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
    """Return for instance `12 s of 30 s: 4800 requests, 401/s, 3 errors`."""
    errors = "" if progress.errors is None else f", {progress.errors} errors"
    return f"{elapsed_s:.0f} s{planned}: {progress.finished} requests, {rate_per_s:.0f}/s{errors}"
