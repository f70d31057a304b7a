"""An experiment file as a whole."""

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lab.experiment import Expectation, Experiment, Load, Override, Request, SteadyState
from lab.files.beside import beside
from lab.files.bounds import Names, check_sizes, read_expectations, read_overrides, repeats, warmup
from lab.files.clients import read_clients
from lab.files.engine import check_engine
from lab.files.errors import Problems
from lab.files.extensions import INSTALLED, read_extensions
from lab.files.faults import FAULT_EXAMPLE, is_built_in, read_conditions
from lab.files.fields import Fields, root
from lab.files.load import (
    REQUEST_EXAMPLE,
    STEADY_STATE_EXAMPLE,
    read_load,
    read_steady_state,
)
from lab.files.outcome import NO_RULE, OUTCOME_EXAMPLE, is_built_in_rule, read_outcome
from lab.files.reference import read_reference
from lab.files.scalars import Parser, name
from lab.files.services import read_system
from lab.files.timeline import TIMELINE_EXAMPLE, planned_size, read_timeline, with_sizes
from lab.system import System
from lab.timeline import row_names

Value = TypeVar("Value")
Default = TypeVar("Default")
Bound = TypeVar("Bound", Override, Expectation)

_EXAMPLES = {  # every key, with how it may look
    "title": "What a retry buys",
    "system": "../systems/rates.yaml",
    "extensions": "[my_faults.py]",
    "load": f"{{request: {REQUEST_EXAMPLE!r}, requests: 200, tasks: 4}}",
    "outcome": OUTCOME_EXAMPLE,
    "clients": "{raw: {}}",
    "steady_state": STEADY_STATE_EXAMPLE,
    "warmup": "1",
    "repeats": "5",
    "faults": f"{{none: [], sick: {FAULT_EXAMPLE}}}",
    "timeline": TIMELINE_EXAMPLE,
    "override": "[{client: raw, requests: 8}]",
    "reference": "published.csv",
    "expect": "[{fault: none, error: 0 %}]",
}
_OF_A_TABLE = ("faults", "override", "warmup")  # what a timeline has no use for
_NO_SYSTEM = System(path=Path(), services=())  # these stand in until the problems are raised
_NO_LOAD = Load(mix=(Request(method="GET", url=""),), requests=1, tasks=1)


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that the file at *path* describes, with its system and its reference.

    Raises:
        FileError: this file, the system's or the reference's cannot be read, or something in it
            is wrong; a line each. All problems are of one file: the first that has some.
    """
    problems = Problems(path)
    keys = _Keys(root(path, problems, keys=tuple(_EXAMPLES)))
    system = keys.require("system", lambda node: read_system(beside(path, node)), _NO_SYSTEM)
    if system is _NO_SYSTEM:  # every name would be unknown
        problems.check()
    bare = _without_bounds(keys, path, system, problems)
    problems.check()  # what follows picks cells by names that must be right
    names = _names(bare)
    reference = keys.read("reference", lambda node: beside(path, node), None)
    experiment = replace(
        bare,
        overrides=_of_each(
            keys.read("override", lambda node: read_overrides(node, names, problems), ()), bare
        ),
        expectations=_of_each(
            keys.read("expect", lambda node: read_expectations(node, names, problems), ()), bare
        ),
        reference=reference,
    )
    problems.check()
    keys.read("override", lambda _: check_sizes(experiment), None)
    problems.check()
    keys.read("load", lambda node: check_engine(experiment, node, problems), None)
    problems.check()
    if reference is None:
        return experiment
    clients = tuple(each.name for each in bare.clients)  # no figure is of a sweep as a whole
    return replace(experiment, published=read_reference(reference, replace(names, clients=clients)))


def _of_each(bounds: tuple[Bound, ...], experiment: Experiment) -> tuple[Bound, ...]:
    """Return *bounds* with one for each client of a sweep in place of one for the sweep."""
    return tuple(
        replace(bound, client=name)
        for bound in bounds
        for name in _clients_of(bound.client, experiment)
    )


def _clients_of(name: str | None, experiment: Experiment) -> list[str | None]:
    swept: list[str | None] = [each.name for each in experiment.clients if each.sweep == name]
    return swept or [name]


def _names(bare: Experiment) -> Names:
    if bare.timeline is None:
        rows = tuple(each.name for each in bare.conditions)
    else:
        rows = row_names(bare.timeline)
    sweeps = dict.fromkeys(each.sweep for each in bare.clients if each.sweep)
    return Names(
        faults=rows,
        clients=(*(each.name for each in bare.clients), *sweeps),
        classes=bare.outcome.classes,
        requests=bare.load.names if bare.timeline is None else (),
        is_timeline=bare.timeline is not None,
    )


def _without_bounds(keys: "_Keys", path: Path, system: System, problems: Problems) -> Experiment:
    extensions = keys.read(
        "extensions", lambda node: read_extensions(node, problems, _is_built_in), INSTALLED
    )
    outcome = keys.require(
        "outcome", lambda node: read_outcome(node, problems, extensions), NO_RULE
    )
    timeline = keys.read(
        "timeline",
        lambda node: read_timeline(node, system, outcome, problems, extensions),
        None,
    )
    if "timeline" in keys:
        keys.refuse(_OF_A_TABLE, because="a timeline has events instead")
        if timeline is None or not (timeline.stages or timeline.bursts):
            problems.check()  # whether the load must say its size is not known
    size = planned_size(timeline) if timeline else None
    load = keys.require(
        "load",
        lambda node: read_load(node, system, problems, size=size, is_closed=timeline is not None),
        _NO_LOAD,
    )
    return Experiment(
        path=path,
        title=keys.require("title", name, ""),
        system=system,
        load=load,
        outcome=outcome,
        clients=keys.require("clients", lambda node: read_clients(node, system, problems), ()),
        conditions=()
        if "timeline" in keys
        else keys.require(
            "faults", lambda node: read_conditions(node, system, problems, extensions), ()
        ),
        timeline=timeline and with_sizes(timeline, load),
        steady_state=keys.read(
            "steady_state", lambda node: read_steady_state(node, system, problems), SteadyState()
        ),
        warmup=keys.read("warmup", warmup, 0),
        repeats=keys.read("repeats", repeats, 1),
    )


def _is_built_in(kind: str) -> bool:
    return is_built_in(kind) or is_built_in_rule(kind)


class _Keys:
    """The file's keys, each with its example from the table above."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    def refuse(self, keys: tuple[str, ...], *, because: str) -> None:
        for key in keys:
            if key in self._fields:
                place = self._fields.node.key_places[key]
                self._fields.problems.add(place, f"{key} does not fit: {because}; remove it")

    def require(self, key: str, parse: Parser[Value], stand_in: Value) -> Value:
        return self._fields.require(key, parse, example=_EXAMPLES[key], stand_in=stand_in)

    def read(self, key: str, parse: Parser[Value], default: Default) -> Value | Default:
        return self._fields.read(key, parse, example=_EXAMPLES[key], default=default)
