"""The `faults` of an experiment: the conditions, each a row of the table."""

from collections.abc import Callable
from typing import Literal, cast

from lab.experiment import Condition, Fault, ProcessFault
from lab.files.chaos import read_chaos
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, items, mapping
from lab.files.scalars import Parser, choice
from lab.files.tree import MappingNode, Node
from lab.system import Service, System

FAULT_EXAMPLE = "[{chaos: rates, failure: 30 %}]"
_KINDS = ("chaos", "pause", "stop", "kill")


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
    sick: set[str] = set()

    def parse(node: Node) -> Fault:
        fault = read_fault(node, system, problems)
        if fault.service in sick:
            raise Wrong(
                f"is the second for {show(fault.service)} under one condition",
                advice="merge the two, or make two conditions",
            )
        sick.add(fault.service)
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
        known = _services(system, lambda service: service.chaos, kind='service with a "chaos" path')
        return read_chaos(node, known, problems)
    return _process(node, kinds[0], system, problems)


def _process(node: MappingNode, kind: str, system: System, problems: Problems) -> ProcessFault:
    fields = Fields(node, problems, keys=(kind,))
    known = _services(system, lambda service: service.name, kind="service that the lab starts")
    return ProcessFault(
        kind=cast("Literal['pause', 'stop', 'kill']", kind),
        service=fields.require(kind, known, example="rates", stand_in=""),
    )


def _services(system: System, suits: Callable[[Service], object], *, kind: str) -> Parser[str]:
    return choice((each.name for each in system.services if suits(each)), kind=kind)
