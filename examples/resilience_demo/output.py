"""Lines to standard output, and how to end when nobody takes them any more."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

READER_GONE = 141  # 128 + SIGPIPE, as a shell reports of tools that the signal ends
UNWRITABLE = 1


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


def end_without_output(failure: OSError) -> int:
    """Return the exit code after a failure to write to standard output, and say why on stderr.

    A reader who has seen enough, as `head` has, is no reason to say anything.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would try again
    if isinstance(failure, BrokenPipeError):
        return READER_GONE
    complain(f"the output cannot be written ({failure.strerror}); send it somewhere else")
    return UNWRITABLE


def complain(sentence: str) -> None:
    """Write a line to stderr, if it takes one."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{sentence}\n")
