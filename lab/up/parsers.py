"""The command line of `lab up` and of the commands that act on what it keeps up."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from lab.arguments import add_allow_host, at_least_one, port

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - has no other

_VERBS = {
    "stop": "end a service; connections are refused until it is started",
    "start": "start a service that was stopped or killed, or that ended",
    "pause": "hold a service; its port accepts and says nothing until it is resumed",
    "resume": "let a paused service go on",
    "kill": "end a service without a goodbye",
    "restart": "end a service and start it again",
}


def add_up_commands(commands: "Commands") -> None:
    """Add `up`, `status`, `chaos`, `fault`, the verbs and `logs` to *commands*."""
    _add_up(commands.add_parser("up", help="bring a system up and keep it up until Ctrl-C"))
    _add_status(commands.add_parser("status", help="what is up, and which faults are on"))
    _add_chaos(commands.add_parser("chaos", help="let a running service's injector make it sick"))
    _add_fault(commands.add_parser("fault", help="put any other fault on a running service"))
    for verb, what in _VERBS.items():
        _add_verb(commands.add_parser(verb, help=what), verb)
    _add_logs(commands.add_parser("logs", help="what a running service wrote"))


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="SYSTEM", help="a YAML file")
    parser.add_argument("--name", help="to find it by; the file's name without .yaml by default")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--seed", type=int, metavar="S", help="of the faults' dice")
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        dest="links",
        metavar="'FRONT -> RATES'",
        help="put a proxy on a link, for faults on it; may be repeated",
    )
    add_allow_host(parser)
    parser.add_argument(
        "--locust", action="store_true", help="Locust's web UI beside it, with a page for faults"
    )
    parser.add_argument(
        "--locust-port",
        type=port,
        metavar="PORT",
        help="of that web UI, which this asks for too; a free one by default",
    )
    parser.set_defaults(command=_up)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", nargs="?", metavar="SYSTEM", help="if several are up")
    parser.set_defaults(command=_status)


def _add_chaos(parser: argparse.ArgumentParser) -> None:
    _add_fault_options(parser, "e.g. failure=0.3 delay=500ms")
    parser.set_defaults(command=_fault, kind="chaos")


def _add_fault(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="as in an experiment file, e.g. pause")
    _add_fault_options(parser, "how, as in an experiment file")
    parser.set_defaults(command=_fault)


def _add_fault_options(parser: argparse.ArgumentParser, how: str) -> None:
    parser.add_argument("service", metavar="SERVICE")
    parser.add_argument("fields", nargs="*", metavar="FIELD=VALUE", help=how)
    parser.add_argument("--for", dest="lasting", metavar="30s", help="until it ends by itself")
    parser.add_argument("--clear", action="store_true", help="take it off")
    _add_system(parser)


def _add_verb(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument("service", metavar="SERVICE")
    _add_system(parser)
    parser.set_defaults(command=_do, verb=verb)


def _add_logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("service", metavar="SERVICE")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument("-n", "--lines", type=at_least_one, default=50, help="how many (50)")
    _add_system(parser)
    parser.set_defaults(command=_logs)


def _add_system(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", metavar="SYSTEM", help="its name or file, if several are up")


def _up(options: argparse.Namespace) -> int:
    from lab.up.up_command import UpOptions, up_command  # noqa: PLC0415 - heavy

    return up_command(
        UpOptions(
            file=options.file,
            name=options.name,
            out=options.out,
            seed=options.seed,
            links=options.links,
            allowed_hosts=options.allowed_hosts,
            locust=options.locust or options.locust_port is not None,
            locust_port=options.locust_port,
        )
    )


def _status(options: argparse.Namespace) -> int:
    from lab.up.remote_command import status_command  # noqa: PLC0415 - heavy

    return status_command(options.system)


def _fault(options: argparse.Namespace) -> int:
    from lab.up.remote_command import clear_command, fault_command  # noqa: PLC0415 - heavy

    if options.clear:
        return clear_command(options.kind, options.service, system=options.system)
    return fault_command(
        options.kind,
        options.service,
        options.fields,
        lasting=options.lasting,
        system=options.system,
    )


def _do(options: argparse.Namespace) -> int:
    from lab.up.remote_command import verb_command  # noqa: PLC0415 - heavy

    return verb_command(options.verb, options.service, system=options.system)


def _logs(options: argparse.Namespace) -> int:
    from lab.up.remote_command import logs_command  # noqa: PLC0415 - heavy

    return logs_command(
        options.service, lines=options.lines, follow=options.follow, system=options.system
    )
