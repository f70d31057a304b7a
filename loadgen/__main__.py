"""`python -m loadgen URL`: see `loadgen/command`."""

import console
from loadgen.command.arguments import parse


def main() -> int:
    """Run the command line and return its exit code; see `--help`."""
    options = parse(None)
    from loadgen.command.cli import run  # noqa: PLC0415 - `--help` has no need of it

    return run(options)


if __name__ == "__main__":
    console.run(main, program="loadgen")
