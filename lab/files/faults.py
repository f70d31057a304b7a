"""The `faults` of an experiment: the conditions, each a row of the table."""

from lab.experiment import Condition
from lab.fault_kinds import Fault, go_together
from lab.files.chaos import WIRE_NAMES, read_chaos
from lab.files.errors import Problems, Wrong, nearest, show
from lab.files.extensions import INSTALLED, Extensions
from lab.files.fields import entries, items, mapping
from lab.files.link_faults import read_link_fault
from lab.files.process_faults import PROCESS_KINDS, read_process_fault, services
from lab.files.tree import Node
from lab.system import System

FAULT_EXAMPLE = "[{chaos: rates, failure: 30 %}]"
_KINDS = ("chaos", "link", *PROCESS_KINDS)


def read_conditions(
    node: Node, system: System, problems: Problems, extensions: Extensions = INSTALLED
) -> tuple[Condition, ...]:
    """Return the named conditions in the order of the file."""
    if not mapping(node).values:
        raise Wrong("must name at least one condition, got {}", advice="write e.g. none: []")
    found = entries(
        node,
        problems,
        lambda key, value: Condition(
            name=key, faults=read_faults(value, system, problems, extensions)
        ),
        example=FAULT_EXAMPLE,
    )
    return tuple(found.values())


def read_faults(
    node: Node, system: System, problems: Problems, extensions: Extensions = INSTALLED
) -> tuple[Fault, ...]:
    """Return faults that are on together."""
    found: list[Fault] = []

    def parse(node: Node) -> Fault:
        fault = read_fault(node, system, problems, extensions)
        if not all(go_together(fault, other) for other in found):
            raise Wrong(
                f"is the second for {show(fault.service)} under one condition",
                advice="merge the two, or make two conditions",
            )
        found.append(fault)
        return fault

    return items(node, problems, parse, name="fault", example=FAULT_EXAMPLE)


def read_fault(
    node: Node, system: System, problems: Problems, extensions: Extensions = INSTALLED
) -> Fault:
    """Return one fault; `Wrong` if the node as a whole is wrong, the rest goes to *problems*."""
    node = mapping(node)
    known_kinds = (*_KINDS, *(kind for kind in extensions.faults if kind not in _KINDS))
    kinds = [kind for kind in known_kinds if kind in node.values]
    if kinds == ["chaos", "flap"]:  # an injector may flap as well
        kinds = ["chaos"]
    if len(kinds) != 1:
        got = "none of them" if not kinds else " and ".join(kinds)
        what = f"must have exactly one of the keys {', '.join(known_kinds)}, got {got}"
        strange = [key for key in node.values if key not in WIRE_NAMES.values()]
        meant = [found for key in strange if (found := nearest(key, known_kinds))]
        advice = f"did you mean {show(meant[0])}?" if meant and not kinds else ""
        raise Wrong(what, advice=advice)
    if kinds == ["chaos"]:
        known = services(system, lambda service: service.chaos, kind='service with a "chaos" path')
        return read_chaos(node, known, problems)
    if kinds == ["link"]:
        return read_link_fault(node, system, problems)
    if kinds[0] not in _KINDS:
        return extensions.read_fault(kinds[0], node, system, problems)
    return read_process_fault(kinds[0], node, system, problems)


def is_built_in(kind: str) -> bool:
    """Tell whether *kind* is a kind of fault that needs no extension."""
    return kind in _KINDS
