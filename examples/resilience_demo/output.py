"""Lines to standard output, until nobody takes them any more."""

from typing import TYPE_CHECKING, TextIO

from console import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

UNWRITABLE = 1  # the exit code


class Output:
    """Writes each line at once, until one cannot be written; the rest is dropped.

    It keeps the failure and raises nothing, because lines are written by handlers of events, and
    what these raise is swallowed.

    Attributes:
        failure: Why a line could not be written; None while all is well.
        on_failure: Called once, when that has happened.

    Args:
        stream: Where to; None drops every line.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.failure: OSError | None = None
        self.on_failure: Callable[[], object] = lambda: None
        self._stream = stream

    def write(self, line: str) -> None:
        """Write a line, given without its end."""
        if self._stream is None or self.failure is not None:
            return
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except OSError as failure:
            self.failure = failure
            self.on_failure()

    def check(self) -> None:
        """Raise OutputError if a line could not be written."""
        if self.failure is not None:
            raise OutputError(self.failure.strerror or str(self.failure)) from self.failure
