"""The command line of `python -m lab`. Imports nothing heavy for `--help`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from console import complain, say
from lab.arguments import add_allow_host, at_least_one
from lab.errors import LabError
from lab.init.parsers import add_init
from lab.up.parsers import add_up_commands

EXIT_CODES = """\
exit codes:
  0    fine
  1    an expectation failed, or a figure lies outside its published band
  2    the command or a file is wrong and nothing was started, or the output cannot be written
  3    no valid data: the system would not start, or was not well when it had to be
  130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        exit_code: int = options.command(options)
    except LabError as failure:
        complain(str(failure))
        return failure.exit_code
    except OSError as failure:  # no descriptor, no space, no permission, wherever it was
        complain(f"operating system error: {failure}")
        return LabError.exit_code
    return exit_code


def _parser() -> argparse.ArgumentParser:
    """Return the parser; each command's function is in its `command` default."""
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description="What does a resilience policy buy, and what does it cost?",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands.add_parser("run", help="run an experiment and print its table"))
    _add_validate(commands.add_parser("validate", help="check files; start nothing"))
    _add_report(commands.add_parser("report", help="print the table of a run that is on disk"))
    _add_schema(commands.add_parser("schema", help="print the JSON Schema of a file, for editors"))
    add_init(commands)
    add_up_commands(commands)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="EXPERIMENT", help="a YAML file")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="fault=NAME|client=NAME",
        help="run only these cells; may be repeated",
    )
    parser.add_argument("--repeats", type=at_least_one, metavar="N", help="measured runs a cell")
    parser.add_argument("--seed", type=int, metavar="S", help="of the faults' dice")
    add_allow_host(parser)
    parser.add_argument("--lang", choices=["en", "uk"], default="en", help="of the table")
    parser.set_defaults(command=_run)


def _add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="experiments")
    add_allow_host(parser)
    parser.set_defaults(command=_validate)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `lab run` has left")
    parser.add_argument("--lang", choices=["en", "uk"], default="en", help="of the table")
    parser.set_defaults(command=_report)


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=["experiment", "system"])
    parser.set_defaults(command=_schema)


def _run(options: argparse.Namespace) -> int:
    from lab.run_command import RunOptions, run_command  # noqa: PLC0415 - heavy

    return run_command(
        RunOptions(
            file=options.file,
            out=options.out,
            only=options.only,
            repeats=options.repeats,
            seed=options.seed,
            language=options.lang,
            allowed_hosts=options.allowed_hosts,
        )
    )


def _report(options: argparse.Namespace) -> int:
    from lab.run_command import report_command  # noqa: PLC0415 - heavy

    return report_command(options.folder, options.lang)


def _validate(options: argparse.Namespace) -> int:
    from lab.validate_command import validate_command  # noqa: PLC0415 - heavy

    return validate_command(options.files, options.allowed_hosts)


def _schema(options: argparse.Namespace) -> int:
    from lab.spec.schema import as_text  # noqa: PLC0415 - heavy

    say(as_text(options.kind), end="")
    return 0
