"""Reads an experiment with all that it names, and a fault that stands in no file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic.alias_generators import to_camel

from lab.errors import UsageError
from lab.run.loads import sends_of
from lab.run.plan import plan
from lab.spec.expectations import Expectation, Names, Override, read_reference
from lab.spec.experiment import Experiment
from lab.spec.extensions import INSTALLED, read_extensions
from lab.spec.fault_documents import CHAOS_KEYS
from lab.spec.faults import FAULT_EXAMPLE, KINDS, Fault, read_fault
from lab.spec.load import Load, why_wrong_number
from lab.spec.models import Reading, Spec, made, mapping, read, root, says
from lab.spec.names import check_bounds, check_fault, check_names
from lab.spec.outcome import is_built_in_rule
from lab.spec.phases import row_names
from lab.spec.problems import START, FileError, Problems, Wrong
from lab.spec.system import System
from lab.spec.timeline import Timeline
from lab.spec.yaml_tree import ListNode, MappingNode, Node, plain_scalar
from lab.templates import fill
from loadgen.locust_run import why_unfit
from loadgen.quantities import show
from loadgen.schedule import planned_requests

Bound = TypeVar("Bound", Override, Expectation)
_UNITS = {"Ms": "ms", "S": "s"}  # how a wire name ends, and the unit that a file would write


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that the file at *path* describes, with its system and its reference.

    Raises:
        FileError: this file, the system's or the reference's cannot be read, or something in it
            is wrong; one line each. All problems are of one file: the first that has some.
    """
    node = root(path, Experiment)
    problems = Problems(path)
    reading = Reading(path=path, extensions=INSTALLED)
    if isinstance(node.get("extensions"), ListNode):  # first: they add kinds to what follows
        reading.extensions = read_extensions(node["extensions"], problems, _is_built_in)
    experiment = read(Experiment, node, reading)
    check_names(experiment, node, reading, problems)
    problems.check()
    experiment = _sized(experiment)
    names = _names(experiment)
    check_bounds(node, names, problems)
    problems.check()
    experiment = experiment.model_copy(
        update={
            "overrides": _of_each(experiment.overrides, experiment),
            "expectations": _of_each(experiment.expectations, experiment),
        }
    )
    if "override" in node:
        with problems.at("override", node["override"].place):
            _check_sizes(experiment)
    problems.check()
    _check_engine(experiment, mapping(node["load"]), problems)
    problems.check()
    if experiment.reference is None:
        return experiment
    clients = tuple(each.name for each in experiment.clients)  # no figure is of a whole sweep
    published = read_reference(experiment.reference, replace(names, clients=clients))
    return experiment.model_copy(update={"published": published})


def _is_built_in(kind: str) -> bool:
    return kind in KINDS or is_built_in_rule(kind)


def _sized(experiment: Experiment) -> Experiment:
    """Return the experiment with what its timeline and its load say for each other."""
    timeline, load = experiment.timeline, experiment.load
    if timeline is None:
        return experiment
    if timeline.stages:
        requests = planned_requests(timeline.stages)
        load = replace(load, requests=requests, tasks=timeline.connections)
    update = {"timeline": _complete(timeline, load, experiment.outcome.classes), "load": load}
    return experiment.model_copy(update=update)


def _complete(timeline: Timeline, load: Load, classes: tuple[str, ...]) -> Timeline:
    """Return the timeline with sizes for each burst and classes for the objective."""
    bursts = tuple(
        burst.model_copy(
            update={"requests": burst.requests or load.requests, "tasks": burst.tasks or load.tasks}
        )
        for burst in timeline.bursts
    )
    objective = timeline.objective
    if objective is not None and not objective.classes:
        objective = objective.model_copy(update={"classes": classes})
    return timeline.model_copy(update={"bursts": bursts, "objective": objective})


def _names(experiment: Experiment) -> Names:
    timeline = experiment.timeline
    rows = tuple(each.name for each in experiment.conditions)
    sweeps = dict.fromkeys(each.sweep for each in experiment.clients if each.sweep)
    return Names(
        faults=row_names(timeline) if timeline else rows,
        clients=(*(each.name for each in experiment.clients), *sweeps),
        classes=experiment.outcome.classes,
        requests=() if timeline else experiment.load.names,
        is_timeline=timeline is not None,
    )


def _of_each(bounds: tuple[Bound, ...], experiment: Experiment) -> tuple[Bound, ...]:
    """Return *bounds* with one for each client of a sweep in place of one for the sweep."""
    found: list[Bound] = []
    for bound in bounds:
        swept = [each.name for each in experiment.clients if each.sweep == bound.client]
        for name in swept if bound.client and swept else [bound.client]:
            if isinstance(bound, Override):
                found.append(bound.model_copy(update={"client": name}))
            else:
                found.append(replace(bound, client=name))
    return tuple(found)


def _check_sizes(experiment: Experiment) -> None:
    """Refuse an override's time at the load's rate, or the reverse, that holds no request.

    Raises:
        Wrong: for the first such cell.
    """
    for cell in plan(experiment):
        if cell.requests is None and cell.rate_per_s and cell.duration_s:
            number = cell.rate_per_s * cell.duration_s
            if why := why_wrong_number(number, f" in {show(cell.name)}"):
                raise Wrong(why, advice="change rate or for")


def _check_engine(experiment: Experiment, node: MappingNode, problems: Problems) -> None:
    """Note if Locust is to send a load that it cannot send; *node* is the file's `load`."""
    if (locust := experiment.load.locust) is None:
        return
    place = node.key_places["engine"]
    if experiment.timeline is not None:
        problems.add(place, "engine: locust has no timelines; leave engine out")
        return
    for cell in plan(experiment):
        [send] = sends_of(experiment, cell, _Nowhere(experiment))
        if why := why_unfit(send.load, workers=locust.here + locust.elsewhere):
            problems.add(place, f"engine: locust cannot send {show(cell.name)}: {why}")
            return


class _Nowhere:
    """Stands in for the running system, whose addresses do not matter yet."""

    def __init__(self, experiment: Experiment) -> None:
        names = [service.name for service in experiment.system.services]
        self._values = {f"{name}.url": "http://127.0.0.1:1" for name in names}
        self._values |= {f"{name}.port": "1" for name in names}

    def expand(self, template: str) -> str:
        return fill(template, self._values)


class _AdHoc(Spec):
    fault: Annotated[Fault, made(read_fault, schema=dict), says(FAULT_EXAMPLE)]


def read_ad_hoc_fault(document: Mapping[str, object], system: System) -> Fault:
    """Return the fault that *document* describes.

    Args:
        document: for instance `{"chaos": "rates", "failure": 0.3, "delay": "500ms"}`, or with
            `"delayMs": 500` for the last; text may stand for a number.
        system: whose services it may name.

    Raises:
        UsageError: something in it is wrong; all of that in one line.
    """
    reading = Reading(path=system.path, extensions=INSTALLED)
    problems = Problems(system.path)
    try:
        node = _node(_in_the_files_names(document))
        fault = read(_AdHoc, MappingNode(START, {"fault": node}), reading).fault
        check_fault(fault, mapping(node), system, problems)
        problems.check()
    except FileError as error:
        said = "; ".join(problem.message for problem in error.problems)
        raise UsageError(said) from None
    return fault


def _in_the_files_names(document: Mapping[str, object]) -> dict[str, object]:
    keys = {to_camel(field): key for key, field in CHAOS_KEYS.file_keys().items()}
    renamed: dict[str, object] = {}
    for key, value in document.items():
        name = keys.get(key, key)
        if name in renamed:
            raise UsageError(f"fault has {show(name)} twice; give it once")
        renamed[name] = value if name == key else _with_unit(key, value)
    return renamed


def _with_unit(wire_name: str, value: object) -> object:
    unit = next((unit for end, unit in _UNITS.items() if wire_name.endswith(end)), "")
    is_bare = isinstance(value, int | float) or str(value).replace(".", "", 1).isdecimal()
    return f"{value}{unit}" if is_bare else value


def _node(value: object) -> Node:
    """Return *value* as if it stood in a file, unquoted."""
    if isinstance(value, Mapping):
        return MappingNode(START, {str(key): _node(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return ListNode(START, map(_node, value))
    return plain_scalar(value if isinstance(value, str) else json.dumps(value), START)
