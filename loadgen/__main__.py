"""`python -m loadgen URL`: see `loadgen/command`."""

import io
import os
import sys
from collections.abc import Sequence

from loadgen.command.arguments import BAD_USAGE, parse

INTERRUPTED = 130
STANDARD_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see `--help`."""
    _write_anything()
    options = parse(argv)
    from loadgen.command.cli import run  # noqa: PLC0415 - `--help` has no need of it

    exit_code = run(options)
    if sys.stdout is not None:
        sys.stdout.flush()
    return exit_code


def _write_anything() -> None:
    """Let a terminal without a character show a question mark rather than end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _fill_standard_descriptors() -> None:
    """Open the ones that the shell closed (`>&-`), or a socket would take their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        pass
    os.close(descriptor)


if __name__ == "__main__":
    _fill_standard_descriptors()
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # a second one, or before anything was sent
        os._exit(INTERRUPTED)
    except OSError as failure:  # the figures cannot be written
        os.write(2, f"loadgen: {failure}\n".encode())
        os._exit(BAD_USAGE)
