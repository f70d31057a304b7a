"""How each command of ours ends: its standard streams, its interrupts, its exit code.

Standard library only, so that `--help` is there at once and whatever has a command may import it.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
READER_GONE = 141  # 128 + SIGPIPE, likewise
_LAST_STANDARD_DESCRIPTOR = 2


class OutputError(Exception):
    """Standard output cannot be written; its cause is the OSError that says why."""


def run(main: Callable[[], int], *, program: str, unwritable: int = 2) -> NoReturn:
    """Run *main* and end the process with the exit code that it returns.

    Python itself would end with 120 where a buffered stream cannot be flushed at exit, whatever
    the command found out. Here a failure of *main* keeps its code. One that succeeded ends with
    *unwritable*, and a line on standard error, if its output is lost, and with READER_GONE, and
    no word, if its reader has seen enough, as `head` has. Standard error that cannot be written
    changes no exit code.

    Args:
        main: the command; may raise SystemExit, as argparse does, and OutputError; an OSError
            is one line and *unwritable*.
        program: begins the line on standard error.
        unwritable: exit code of a command whose output cannot be written.
    """
    _open_missing_descriptors()
    _replace_what_cannot_be_encoded()
    exit_code = _exit_code_of(main, program, unwritable)
    try:
        _flush(sys.stdout)
    except OutputError as lost:
        exit_code = exit_code or _lost_output(lost, program, unwritable)
    with suppress(OutputError):
        _flush(sys.stderr)
    sys.exit(exit_code)


def say(text: str = "", *, end: str = "\n") -> None:
    """Write *text* and *end* to standard output at once, if there is one.

    Raises:
        OutputError: it cannot be written; `run` ends the command.
    """
    if sys.stdout is None:
        return
    with _output_errors(sys.stdout):
        sys.stdout.write(text + end)
        sys.stdout.flush()


def complain(line: str) -> None:
    """Write a line to standard error, if that takes one."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _exit_code_of(main: Callable[[], int], program: str, unwritable: int) -> int:
    try:
        return main()
    except SystemExit as end:
        if isinstance(end.code, str):
            complain(end.code)
            return 1
        return end.code or 0
    except KeyboardInterrupt:  # a second one, or before there was anything to undo
        os._exit(INTERRUPTED)
    except OutputError as lost:
        return _lost_output(lost, program, unwritable)
    except OSError as failure:
        complain(f"{program}: {failure}")
        return unwritable


def _lost_output(lost: OutputError, program: str, unwritable: int) -> int:
    if isinstance(lost.__cause__, BrokenPipeError):
        return READER_GONE
    complain(f"{program}: the output cannot be written ({lost}); send it somewhere else")
    return unwritable


def _flush(stream: TextIO | None) -> None:
    if stream is not None:
        with _output_errors(stream):
            stream.flush()


@contextmanager
def _output_errors(stream: TextIO) -> Iterator[None]:
    """Raise OutputError where the stream fails; what is buffered is dropped.

    Otherwise Python would try it again at its exit.
    """
    try:
        yield
    except OSError as failure:
        _drop(stream)
        raise OutputError(failure.strerror or str(failure)) from failure


def _drop(stream: TextIO) -> None:
    """Send what is buffered, and all that follows, nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
    stream.flush()


def _open_missing_descriptors() -> None:
    """Open the ones that the shell closed (`>&-`), or a socket would take their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_DESCRIPTOR:
        pass
    os.close(descriptor)


def _replace_what_cannot_be_encoded() -> None:
    """Let a terminal without a character show a question mark rather than end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
