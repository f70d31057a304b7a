"""The command line. Imports nothing of the engine, so that `--help` is there at once."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from loadgen.quantities import positive_rate_per_s, seconds

BAD_USAGE = 2
DESCRIPTION = """\
Send a load over HTTP/1.1 and show how it was answered. N requests from C tasks, each
sending its next request when the last one is answered (closed model), or a rate kept
whatever the target does, with latencies from the moment each request was due (open model).
"""
EXIT_CODES = """\
durations and rates carry a unit: 500ms, 30s, 2min; 500/s, 30/min

exit codes:
  0    fine, failed requests included: they are what was measured
  2    the command is wrong; nothing was sent
  3    no valid data: no connection was made, or the figures are of the generator and not of
       the target: it stood still, was too busy, or could not open connections
  130  interrupted; the figures are of what was sent until then
"""
_T = TypeVar("_T")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"loadgen: {message.removeprefix('argument ')}\n")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments, each valid in itself; one that is not ends the process with 2."""
    parser = _parser()
    for argument in sys.argv[1:] if argv is None else argv:
        try:
            argument.encode()
        except UnicodeEncodeError:
            parser.error(f"arguments must be UTF-8, got {argument!r}")
    return parser.parse_args(argv)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m loadgen",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("url", metavar="URL", help="absolute: http, https or http+unix")
    _add_amount(parser.add_argument_group("how much"))
    _add_request(parser.add_argument_group("what to send"))
    _add_connection(parser.add_argument_group("how to connect"))
    _add_outcome(parser.add_argument_group("classes of reply (without any: 2xx is ok)"))
    _add_comparison(parser.add_argument_group("comparison"))
    _add_output(parser.add_argument_group("output"))
    return parser


def _add_amount(group: argparse._ArgumentGroup) -> None:
    end = group.add_mutually_exclusive_group()
    end.add_argument(
        "-n", "--requests", type=_from_1, metavar="N", help="how many (default 200 without --rate)"
    )
    end.add_argument("--until", type=_told(seconds), metavar="TIME", help="for how long")
    group.add_argument(
        *("-c", "--tasks"),
        type=_from_1,
        metavar="C",
        help="requests under way at a time: tasks (default 4); with --rate, connections at most "
        "(default 1000)",
    )
    group.add_argument("--rate", type=_told(positive_rate_per_s), metavar="RATE", help="open model")
    group.add_argument(
        "--ramp-to",
        type=_told(positive_rate_per_s),
        metavar="RATE",
        help="the rate grows or falls to it",
    )
    group.add_argument("--poisson", action="store_true", help="gaps at random instead of even ones")
    group.add_argument("--seed", type=int, default=0, metavar="S", help="of the gaps (default 0)")
    group.add_argument(
        "--processes", type=_from_1, default=1, metavar="N", help="generators, one a core"
    )
    group.add_argument(
        "--warmup",
        type=_told(_warmup),
        default={},
        metavar="N|TIME",
        help="requests or a time before the first that counts",
    )


def _add_request(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-X", "--method", help="default GET, with a body POST")
    group.add_argument(
        *("-H", "--header"),
        action="append",
        default=[],
        dest="headers",
        metavar="'NAME: VALUE'",
        help="may be repeated",
    )
    group.add_argument("-d", "--body", metavar="TEXT|@FILE", help="sent as UTF-8")


def _add_connection(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--unix", metavar="PATH", help="connect to this socket, not to URL's host")
    group.add_argument("--no-keepalive", action="store_true", help="a connection a request")
    group.add_argument("--insecure", action="store_true", help="take any TLS certificate")
    group.add_argument(
        "--connect-timeout",
        type=_told(seconds),
        metavar="TIME",
        help="for a connection, TLS included (default 10s, or --timeout if that is less)",
    )
    group.add_argument(
        "--first-byte-timeout",
        type=_told(seconds),
        metavar="TIME",
        help="from sending to the first byte of the reply (default: none)",
    )
    group.add_argument(
        "--timeout",
        type=_told(seconds),
        default=60.0,
        metavar="TIME",
        help="for the whole of a request (default 60s)",
    )
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        dest="allowed_hosts",
        metavar="NAME",
        help="a host beside this machine that may be loaded; its owner has agreed",
    )


def _add_outcome(group: argparse._ArgumentGroup) -> None:
    kind = group.add_mutually_exclusive_group()
    kind.add_argument(
        "--status", metavar="2xx=CLASS,404=CLASS", help="by status; all others are errors"
    )
    kind.add_argument("--field", metavar="NAME", help="by a JSON field of 2xx replies")
    group.add_argument(
        "--classes", metavar="A,B", help="the values of --field; any other is an error"
    )


def _add_comparison(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--against", metavar="URL2", help="send the same load to both, in turn")
    group.add_argument("--rounds", type=_from_1, metavar="N", help="of the two each (default 5)")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help="one JSON document in place of a table")
    group.add_argument(
        "--csv", type=Path, metavar="FILE", help="a row a request, into a file that is not there"
    )
    group.add_argument(
        *("-q", "--quiet"), action="store_true", help="no live line while the load is sent"
    )


def _told(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Let argparse say what *read* has against a value."""

    def read_or_tell(text: str) -> _T:
        try:
            return read(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from problem

    return read_or_tell


def _from_1(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def _warmup(text: str) -> dict[str, float]:
    """Return the field of a load that a warm-up sets."""
    if text.isascii() and text.isdecimal():
        return {"warmup_requests": int(text)}
    return {"warmup_s": seconds(text)}
