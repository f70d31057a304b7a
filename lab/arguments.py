"""Arguments that more than one command of `python -m lab` takes."""

import argparse

_LAST_PORT = 65_535


def at_least_one(text: str) -> int:
    """Return a whole number from 1; for argparse's `type`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def port(text: str) -> int:
    """Return a TCP port; for argparse's `type`."""
    if not text.isdecimal() or not 1 <= int(text) <= _LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be a port from 1 to {_LAST_PORT}, got {text!r}")
    return int(text)


def add_allow_host(parser: argparse.ArgumentParser) -> None:
    """Add --allow-host."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        dest="allowed_hosts",
        metavar="NAME",
        help="another machine, yours to load and to make sick; may be repeated",
    )
