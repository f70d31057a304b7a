"""The options of `lab init`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - has no other


def add_init(commands: "Commands") -> None:
    """Add `init` to *commands*."""
    parser = commands.add_parser(
        "init", help="write a first experiment for a service of yours; asks three questions"
    )
    service = parser.add_mutually_exclusive_group()
    service.add_argument("--run", metavar="CMD", help="how it starts, with {port} in it")
    service.add_argument("--url", metavar="URL", help="where it runs already")
    parser.add_argument("--path", metavar="/", help="what to request")
    parser.add_argument("--out", metavar="DIR", help="a folder for the files")
    parser.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    from lab.init.init_command import InitOptions, init_command  # noqa: PLC0415 - heavy

    return init_command(
        InitOptions(
            run=options.run,
            url=options.url,
            path=options.path,
            out=None if options.out is None else Path(options.out),
        )
    )
