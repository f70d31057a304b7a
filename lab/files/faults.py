"""The `faults` of an experiment: the conditions, each a row of the table."""

from lab.experiment import Condition, Fault, go_together
from lab.files.chaos import read_chaos
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import entries, items, mapping
from lab.files.process_faults import PROCESS_KINDS, read_process_fault, services
from lab.files.tree import Node
from lab.system import System

FAULT_EXAMPLE = "[{chaos: rates, failure: 30 %}]"
_KINDS = ("chaos", *PROCESS_KINDS)


def read_conditions(node: Node, system: System, problems: Problems) -> tuple[Condition, ...]:
    """Return the named conditions in the order of the file."""
    if not mapping(node).values:
        raise Wrong("must name at least one condition, got {}", advice="write e.g. none: []")
    found = entries(
        node,
        problems,
        lambda key, value: Condition(name=key, faults=read_faults(value, system, problems)),
        example=FAULT_EXAMPLE,
    )
    return tuple(found.values())


def read_faults(node: Node, system: System, problems: Problems) -> tuple[Fault, ...]:
    """Return faults that are on together."""
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
        known = services(system, lambda service: service.chaos, kind='service with a "chaos" path')
        return read_chaos(node, known, problems)
    return read_process_fault(kinds[0], node, system, problems)
