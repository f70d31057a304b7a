"""Faults of a service's process, of what stands beside it, and of a backing Redis."""

from collections.abc import Callable
from typing import Literal

from lab.fault_kinds import (
    BurnFault,
    Fault,
    FilesFault,
    FlapFault,
    FlushFault,
    MemoryFault,
    ProcessFault,
    RestartFault,
)
from lab.files.errors import Problems
from lab.files.fields import Fields
from lab.files.scalars import Parser, choice, seconds, whole, whole_mib
from lab.files.tree import MappingNode
from lab.system import Service, System

MAX_CORES = 1024
MAX_SPARE_FILES = 1_000_000


def _process(kind: Literal["pause", "stop", "kill"]) -> "_Reader":
    return lambda service, _: ProcessFault(kind=kind, service=service)


def _flap(service: str, fields: Fields) -> Fault:
    return FlapFault(
        service=service,
        down_s=fields.read("down", seconds, example="1 s", default=1.0),
        up_s=fields.read("up", seconds, example="2 s", default=1.0),
    )


def _burn(service: str, fields: Fields) -> Fault:
    cores = fields.read("cores", whole(1, MAX_CORES), example="2", default=None)
    return BurnFault(service=service, cores=cores)


def _memory(service: str, fields: Fields) -> Fault:
    mib = fields.require("size", whole_mib, example="256 MiB", stand_in=1)
    return MemoryFault(service=service, mib=mib)


def _files(service: str, fields: Fields) -> Fault:
    spare = fields.read("spare", whole(0, MAX_SPARE_FILES), example="0", default=0)
    return FilesFault(service=service, spare=spare)


_Reader = Callable[[str, Fields], Fault]  # of the service's name and the fields beside it
_KINDS: dict[str, tuple[_Reader, tuple[str, ...]]] = {  # kind -> (reader, the keys that say how)
    "pause": (_process("pause"), ()),
    "stop": (_process("stop"), ()),
    "kill": (_process("kill"), ()),
    "restart": (lambda service, _: RestartFault(service=service), ()),
    "flap": (_flap, ("down", "up")),
    "burn": (_burn, ("cores",)),
    "memory": (_memory, ("size",)),
    "files": (_files, ("spare",)),
    "flush": (lambda service, _: FlushFault(service=service), ()),
}
PROCESS_KINDS = tuple(_KINDS)


def read_process_fault(kind: str, node: MappingNode, system: System, problems: Problems) -> Fault:
    """Return the fault of one of `PROCESS_KINDS`."""
    read, keys = _KINDS[kind]
    fields = Fields(node, problems, keys=(kind, *keys))
    known = services(system, _is_process, kind="service that the lab starts")
    if kind == "flush":
        known = services(system, lambda service: service.backing, kind="backing Redis")
    service = fields.require(kind, known, example="redis", stand_in="")
    return read(service, fields)


def _is_process(service: Service) -> bool:
    return service.url is None


def services(system: System, suits: Callable[[Service], object], *, kind: str) -> Parser[str]:
    """Return a parser of the names of the services that *suits* is true of."""
    return choice((each.name for each in system.services if suits(each)), kind=kind)
