"""A fault given outside a file: as an experiment would say it, or in the injector's own names."""

import json
from collections.abc import Mapping

from lab.errors import UsageError
from lab.fault_kinds import Fault
from lab.files.chaos import WIRE_NAMES
from lab.files.errors import START, FileError, Problems, Wrong, show
from lab.files.faults import FAULT_EXAMPLE, read_fault
from lab.files.tree import ListNode, MappingNode, Node, plain_scalar
from lab.system import System

_UNITS = {"Ms": "ms", "S": "s"}  # how a wire name ends, and the unit that a file would write


def read_ad_hoc_fault(document: Mapping[str, object], system: System) -> Fault:
    """Return the fault that *document* describes.

    Args:
        document: for instance `{"chaos": "rates", "failure": 0.3, "delay": "500ms"}`, or with
            `"delayMs": 500` for the last; text may stand for a number.
        system: whose services it may name.

    Raises:
        UsageError: something in it is wrong; all of that in one line.
    """
    problems = Problems(system.path)
    fault = problems.attempt(
        "fault",
        START,
        lambda: read_fault(_node(_in_the_files_names(document)), system, problems),
        example=FAULT_EXAMPLE,
        instead=None,
    )
    try:
        problems.check()
    except FileError as error:
        said = "; ".join(problem.message for problem in error.problems)
        raise UsageError(said) from None
    assert fault is not None  # noqa: S101 - else there was a problem
    return fault


def _in_the_files_names(document: Mapping[str, object]) -> dict[str, object]:
    renamed: dict[str, object] = {}
    for key, value in document.items():
        name = WIRE_NAMES.get(key, key)
        if name in renamed:
            raise Wrong(f"has {show(name)} twice", advice="give it once")
        renamed[name] = value if name == key else _with_unit(key, value)
    return renamed


def _with_unit(wire_name: str, value: object) -> object:
    unit = next((unit for end, unit in _UNITS.items() if wire_name.endswith(end)), "")
    is_bare = isinstance(value, int | float) or str(value).replace(".", "", 1).isdecimal()
    return f"{value}{unit}" if is_bare else value


def _node(value: object) -> Node:
    """Return *value* as if it stood in a file, unquoted."""
    if isinstance(value, Mapping):
        values = {str(key): _node(item) for key, item in value.items()}
        return MappingNode(place=START, values=values, key_places=dict.fromkeys(values, START))
    if isinstance(value, list | tuple):
        return ListNode(place=START, items=[_node(item) for item in value])
    return plain_scalar(value if isinstance(value, str) else json.dumps(value), START)
