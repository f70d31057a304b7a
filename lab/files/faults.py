"""The `faults` of an experiment: the conditions, each a row of the table."""

from types import MappingProxyType

from lab.experiment import ChaosFault, Condition, Fault, go_together
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, items, mapping
from lab.files.process_faults import PROCESS_KINDS, read_process_fault, services
from lab.files.scalars import Parser, fraction, whole, whole_ms, whole_s
from lab.files.tree import MappingNode, Node
from lab.system import System

FAULT_EXAMPLE = "[{chaos: rates, failure: 30 %}]"
_MAX_COUNT = 10**9
_KINDS = ("chaos", *PROCESS_KINDS)
_CHAOS: dict[str, tuple[str, Parser[object], str]] = {  # key -> (wire name, parser, example)
    "failure": ("failure", fraction, "30 %"),
    "status": ("status", whole(400, 599), "503"),
    "delay": ("delayMs", whole_ms, "500ms"),
    "jitter": ("jitterMs", whole_ms, "50ms"),
    "failFirst": ("failFirst", whole(0, _MAX_COUNT), "3"),
    "retryAfter": ("retryAfterS", whole_s, "2 s"),
    "seed": ("seed", whole(0, _MAX_COUNT), "7"),
}
WIRE_NAMES = {wire: key for key, (wire, _, _) in _CHAOS.items()}
_HARMFUL = ("failure", "delay", "jitter", "failFirst")  # the others only say how


def read_conditions(node: Node, system: System, problems: Problems) -> tuple[Condition, ...]:
    """Return the named conditions in the order of the file."""
    if not mapping(node).values:
        raise Wrong("must name at least one condition, got {}", advice="write e.g. none: []")
    found = entries(
        node,
        problems,
        lambda key, value: Condition(name=key, faults=_faults(value, system, problems)),
        example=FAULT_EXAMPLE,
    )
    return tuple(found.values())


def _faults(node: Node, system: System, problems: Problems) -> tuple[Fault, ...]:
    found: list[Fault] = []

    def parse(node: Node) -> Fault:
        fault = read_fault(node, system, problems)
        if not all(go_together(fault, other) for other in found):
            raise Wrong(
                f"is the second for {show(fault.service)} under one condition",
                advice="merge the two, or make two conditions",
            )
        found.append(fault)
        return fault

    return items(node, problems, parse, name="fault", example=FAULT_EXAMPLE)


def read_fault(node: Node, system: System, problems: Problems) -> Fault:
    """Return one fault; `Wrong` if the node as a whole is wrong, the rest goes to *problems*."""
    node = mapping(node)
    kinds = [kind for kind in _KINDS if kind in node.values]
    if len(kinds) != 1:
        got = "none of them" if not kinds else " and ".join(kinds)
        raise Wrong(f"must have exactly one of the keys {', '.join(_KINDS)}, got {got}")
    if kinds == ["chaos"]:
        return _chaos(node, system, problems)
    return read_process_fault(kinds[0], node, system, problems)


def _chaos(node: MappingNode, system: System, problems: Problems) -> ChaosFault:
    fields = Fields(node, problems, keys=("chaos", *_CHAOS))
    known = services(system, lambda service: service.chaos, kind='service with a "chaos" path')
    service = fields.require("chaos", known, example="rates", stand_in="")
    if not any(key in fields for key in _HARMFUL) and not fields.has_unknown:
        advice = "write e.g. failure: 30 % or delay: 500ms"
        raise Wrong(f"does nothing to {show(service)}", advice=advice)
    document = {
        wire: fields.read(key, parse, example=example, default=None)
        for key, (wire, parse, example) in _CHAOS.items()
        if key in fields
    }
    return ChaosFault(service=service, document=MappingProxyType(document))
