"""`python -m loadgen URL`: see `loadgen/command`."""

import os
import sys
from collections.abc import Sequence

from loadgen.command.arguments import BAD_USAGE, parse

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see `--help`."""
    options = parse(argv)
    from loadgen.command.cli import run  # noqa: PLC0415 - `--help` has no need of it

    exit_code = run(options)
    sys.stdout.flush()
    return exit_code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # a second one, or before anything was sent
        os._exit(INTERRUPTED)
    except OSError as failure:  # the figures cannot be written
        os.write(2, f"loadgen: {failure}\n".encode())
        os._exit(BAD_USAGE)
