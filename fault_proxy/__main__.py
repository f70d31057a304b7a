"""`python -m fault_proxy`: a proxy in a process of its own, controlled over HTTP."""

import argparse
import contextlib
import json
import resource
import socket
from collections.abc import Sequence

import uvloop

from console import complain, run, say
from fault_proxy.address import HostPort
from fault_proxy.proxy import Proxy
from fault_proxy.serving import control_socket, serve_control

WRONG_COMMAND = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; 0 after that, 2 if the command is wrong or a port is taken.

    One line of JSON on stdout says, once it is ready, where it listens.
    """
    arguments = _parser().parse_args(argv)
    _allow_many_connections()
    try:
        with control_socket(arguments.control) as bound:
            uvloop.run(_serve(arguments, bound))
    except (OSError, ValueError) as error:
        complain(f"fault_proxy: {error}")
        return WRONG_COMMAND
    return 0


async def _serve(arguments: argparse.Namespace, bound: socket.socket) -> None:
    async with Proxy(arguments.listen, arguments.upstream, seed=arguments.seed) as proxy:
        ready = {
            "listen": str(HostPort(*proxy.address)),
            "upstream": arguments.upstream,
            "control": _control_url(bound),
        }
        await serve_control(proxy, bound, lambda: _say(ready))


def _say(ready: dict[str, str]) -> None:
    say(json.dumps(ready))


def _control_url(bound: socket.socket) -> str:
    address = bound.getsockname()
    if bound.family == socket.AF_UNIX:
        return f"unix:{address}"
    return f"http://{HostPort(*address[:2])}"


def _allow_many_connections() -> None:
    """Raise the limit of open descriptors as far as one may: a connection takes two."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # some systems know no such high limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fault_proxy", description=__doc__)
    parser.add_argument(
        "--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="for clients; port 0: any"
    )
    parser.add_argument("--upstream", required=True, metavar="HOST:PORT", help="the service")
    parser.add_argument(
        "--control",
        default="127.0.0.1:0",
        metavar="HOST:PORT|PATH",
        help="for faults: loopback, or a Unix socket (a path with a slash)",
    )
    parser.add_argument("--seed", type=int, help="of the faults that name none")
    return parser


if __name__ == "__main__":
    run(main, program="fault_proxy")
