"""Everything that can be done to a service or a link: the `faults` of an experiment.

A new fault of a process is a class here and a line in `_PROCESS_FAULTS`; one of a link is a class
in `fault_proxy.faults.documents`, and what a service does to itself a field of `chaos.document`.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema

from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import (
    CHAOS_KEYS,
    LINK_KEYS,
    ChaosFault,
    LinkFault,
    read_chaos,
    read_link_fault,
)
from lab.spec.models import Entry, Spec, entries, made, mapping, reading_of, says, sequence
from lab.spec.problems import Wrong, nearest
from lab.spec.quantities import Line, Mebibytes, Seconds, whole_number
from lab.spec.system import Service
from lab.spec.yaml_tree import MappingNode, Node, describe
from loadgen.quantities import show

FAULT_EXAMPLE = "[{chaos: rates, failure: 30 %}]"


class _OfAService(Spec):
    """A fault whose kind is the key that names the service."""

    kind: str
    service: Annotated[Line, says("redis", "a service that the lab starts")]

    @classmethod
    def file_keys(cls, node: MappingNode | None = None) -> dict[str, str]:
        """Return the keys, the kind in place of the service's."""
        own = cls.kinds()[0] if node is None else next(k for k in cls.kinds() if k in node)
        keys = super().file_keys(node)
        keys = {key: field for key, field in keys.items() if key not in {"kind", "service"}}
        return {own: "service", **keys}

    @classmethod
    def _fields_of(
        cls, node: MappingNode, keys: dict[str, str], info: ValidationInfo
    ) -> dict[str, object]:
        kind = next(key for key, field in keys.items() if field == "service")
        return super()._fields_of(node, keys, info) | {"kind": kind}

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Return the kinds that the class stands for."""
        kinds: tuple[str, ...] = cls.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
        return kinds

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        properties = schema.pop("properties")
        del properties["kind"]
        service = properties.pop("service")
        required = [key for key in schema.pop("required") if key not in {"kind", "service"}]
        schema["anyOf"] = [
            {
                "properties": {kind: service, **properties},
                "required": [kind, *required],
                "additionalProperties": False,
            }
            for kind in cls.kinds()
        ]
        del schema["additionalProperties"]
        return schema


class ProcessFault(_OfAService):
    """What is done to the service's process.

    `pause`: SIGSTOP, its port accepts and says nothing. `stop`: SIGTERM, connections are refused.
    `kill`: SIGKILL, the same without a goodbye. Reverting resumes or starts it again.
    """

    kind: Literal["pause", "stop", "kill"]


class RestartFault(_OfAService):
    """The service is ended and started again once, and has forgotten what it did not store."""

    kind: Literal["restart"] = "restart"


class FlapFault(_OfAService):
    """The service is stopped and started again, over and over."""

    kind: Literal["flap"] = "flap"
    down_s: Annotated[Seconds, says("1 s", "from its end to its next start", alias="down")] = 1.0
    up_s: Annotated[Seconds, says("2 s", "from when it is ready", alias="up")] = 1.0


class BurnFault(_OfAService):
    """Processes beside the service compute without end, each as much as one core can."""

    kind: Literal["burn"] = "burn"
    cores: Annotated[
        int | None,
        whole_number(1, 1024),
        says("2", "how many; as many as the lab and its services may use, where it is left out"),
    ] = None


class MemoryFault(_OfAService):
    """A process beside the service holds memory and keeps touching it."""

    kind: Literal["memory"] = "memory"
    mib: Annotated[Mebibytes, says("256 MiB", "in whole MiB", alias="size")]


class FilesFault(_OfAService):
    """The service's processes may open few or no further file descriptors, sockets included."""

    kind: Literal["files"] = "files"
    spare: Annotated[
        int,
        whole_number(0, 1_000_000),
        says("0", "how many more than it has open when the fault begins"),
    ] = 0


class FlushFault(_OfAService):
    """A backing Redis forgets all that it holds, once."""

    kind: Literal["flush"] = "flush"


Fault = (
    ChaosFault
    | LinkFault
    | ExtensionFault
    | ProcessFault
    | RestartFault
    | FlapFault
    | BurnFault
    | MemoryFault
    | FilesFault
    | FlushFault
)
_PROCESS_FAULTS: tuple[type[_OfAService], ...] = (
    ProcessFault,
    RestartFault,
    FlapFault,
    BurnFault,
    MemoryFault,
    FilesFault,
    FlushFault,
)
PROCESS_KINDS = {kind: model for model in _PROCESS_FAULTS for kind in model.kinds()}
KINDS = ("chaos", "link", *PROCESS_KINDS)
LEASED = (ChaosFault, LinkFault)  # end by themselves, should the lab die
MOMENTARY = (RestartFault, FlushFault)  # done once it has been applied; nothing to revert
_BESIDE = (BurnFault, MemoryFault, FlushFault)  # leaves the process itself alone
_INSIDE = (ChaosFault, FilesFault)  # needs the process to be there


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A named row of the table: the faults that are on together; none for the healthy system."""

    name: str
    faults: tuple[Fault, ...] = ()


def go_together(one: Fault, other: Fault) -> bool:
    """Tell whether two faults can be on at once, each having its effect until it is reverted."""
    if one.service != other.service or isinstance(one, LinkFault):
        return True
    if one.kind == other.kind:
        return False
    if isinstance(one, _BESIDE) or isinstance(other, _BESIDE):
        return True
    return isinstance(one, _INSIDE) and isinstance(other, _INSIDE)


def label(fault: Fault) -> str:
    """Return what a fault is and where, for people: `chaos at rates, match path /x`."""
    match fault:
        case ChaosFault():
            what = f"chaos at {fault.service}"
        case LinkFault():
            what = f"{fault.document['kind']} on {fault.link}"
        case _:
            return f"{fault.kind} at {fault.service}"
    match = fault.document.get("match")
    words = [f"{key} {value}" for key, value in match.items()] if isinstance(match, Mapping) else []
    return f"{what}, match {' '.join(words)}" if words else what


def asked_share(fault: Fault) -> float | None:
    """Return the share of requests or connections to be hit; None for all, or an unknown one."""
    if not isinstance(fault, ChaosFault | LinkFault):
        return None
    share = fault.document.get("failure" if isinstance(fault, ChaosFault) else "probability")
    return float(share) if isinstance(share, int | float) and share < 1 else None


def can_have(kind: str) -> tuple[Callable[[Service], bool], str]:
    """Return which services a fault of *kind* can be on, and what such a one is called."""
    if kind == "chaos":
        return lambda service: service.chaos is not None, 'service with a "chaos" path'
    if kind == "flush":
        return lambda service: service.backing is not None, "backing Redis"
    if kind in PROCESS_KINDS:
        return lambda service: service.url is None, "service that the lab starts"
    return lambda _: True, "service of the system"


def read_fault(node: Node, info: ValidationInfo) -> Fault:
    """Return the fault that *node* says, and note it for the pass over names.

    Raises:
        Wrong: the mapping as a whole is wrong.
        ValidationError: its values are.
    """
    if not isinstance(node, MappingNode):
        what = f"must be a mapping (key: value), got {describe(node)}"
        raise Wrong(what, name="fault", advice=f"write e.g. {FAULT_EXAMPLE}")
    kind = _kind_of(node, reading_of(info).extensions.faults)
    fault: Fault
    if kind == "chaos":
        fault = read_chaos(node, info)
    elif kind == "link":
        fault = read_link_fault(node, info)
    elif kind in PROCESS_KINDS:
        fault = PROCESS_KINDS[kind].model_validate(node, context=info.context)  # type: ignore[assignment]
    else:
        fault = reading_of(info).extensions.read_fault(kind, node)
    reading_of(info).faults.append((fault, node))
    return fault


def _kind_of(node: MappingNode, extensions: Iterable[str]) -> str:
    known = (*KINDS, *(kind for kind in extensions if kind not in KINDS))
    kinds = [kind for kind in known if kind in node]
    if kinds == ["chaos", "flap"]:  # an injector may flap as well
        return "chaos"
    if len(kinds) == 1:
        return kinds[0]
    got = " and ".join(kinds) or "none of them"
    further = CHAOS_KEYS.file_keys()
    meant = [nearest(key, known) for key in node if key not in further]
    advice = f"write e.g. {FAULT_EXAMPLE}"
    if not kinds and any(meant):
        advice = f"did you mean {show(next(filter(None, meant)))}?"
    what = f"must have exactly one of the keys {', '.join(known)}, got {got}"
    raise Wrong(what, name="fault", advice=advice)


def read_faults(node: Node, info: ValidationInfo) -> tuple[Fault, ...]:
    """Return faults that are on together; errors as of `read_fault`, each at its index."""
    found: list[Fault] = []

    def parse(_: str | int, node: Node) -> Fault:
        fault = read_fault(node, info)
        if not all(go_together(fault, other) for other in found):
            raise Wrong(
                f"is the second for {show(fault.service)} under one condition",
                name="fault",
                advice="merge the two, or make two conditions",
            )
        found.append(fault)
        return fault

    return entries(sequence(node), parse)


def _read_conditions(node: Node, info: ValidationInfo) -> tuple[Condition, ...]:
    if not mapping(node):
        raise Wrong("must name at least one condition, got {}", advice="write e.g. none: []")
    return entries(
        node, lambda key, value: Condition(name=str(key), faults=read_faults(value, info))
    )


_ALL_KEYS: Any = functools.reduce(operator.or_, (CHAOS_KEYS, *LINK_KEYS.values(), *_PROCESS_FAULTS))
FaultsField = Annotated[tuple[Fault, ...], made(read_faults, schema=list[_ALL_KEYS])]
ConditionsField = Annotated[
    tuple[Condition, ...],
    made(_read_conditions, schema=dict[str, list[_ALL_KEYS]]),
    Entry(example=FAULT_EXAMPLE),
]
