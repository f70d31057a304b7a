"""The `timeline` of an experiment: a load over time, and the faults that come and go."""

from dataclasses import replace
from itertools import pairwise

from lab.experiment import Burst, Event, Load, Objective, Timeline
from lab.fault_kinds import Fault, go_together
from lab.files.errors import Problems, Wrong, show
from lab.files.extensions import INSTALLED, Extensions
from lab.files.faults import FAULT_EXAMPLE, read_faults
from lab.files.fields import Fields, items, sequence
from lab.files.load import MAX_REQUESTS, requests, tasks
from lab.files.rates import ramp_per_s
from lab.files.scalars import choice, describe, fraction, name, seconds, whole, written
from lab.files.tree import ListNode, MappingNode, Node
from lab.files.units import duration_s
from lab.system import System
from lab.timeline.phases import AFTER, BEFORE, TOGETHER, WHOLE
from loadgen import OutcomeRule, Stage
from loadgen.schedule import planned_requests

EVENT_EXAMPLE = f"{{at: 10 s, for: 5 s, faults: {FAULT_EXAMPLE}}}"
TIMELINE_EXAMPLE = f"{{duration: 60 s, rate: 50/s, events: [{EVENT_EXAMPLE}]}}"
MAX_CONNECTIONS = 10_000
MAX_EVENTS = 100
_KEYS = ("duration", "rate", "bursts", "connections", "events", "objective")
_TOLERANCE_S = 1e-6


def planned_size(timeline: Timeline) -> tuple[int, int] | None:
    """Return the requests and the most connections of an open load; None if it has bursts."""
    if not timeline.stages:
        return None
    return planned_requests(timeline.stages), timeline.connections


def with_sizes(timeline: Timeline, load: Load) -> Timeline:
    """Return the timeline with the size of the load for each burst without its own."""
    bursts = (
        replace(
            burst,
            requests=burst.requests or load.requests or 1,  # 1: until problems are raised
            tasks=burst.tasks or load.tasks or 1,
        )
        for burst in timeline.bursts
    )
    return replace(timeline, bursts=tuple(bursts))


def read_timeline(
    node: Node,
    system: System,
    outcome: OutcomeRule,
    problems: Problems,
    extensions: Extensions = INSTALLED,
) -> Timeline:
    """Return the timeline; a burst of 0 requests or tasks has yet to be given a size."""
    fields = Fields(node, problems, keys=_KEYS)
    if ("rate" in fields) == ("bursts" in fields) and not fields.has_unknown:
        got = "both" if "rate" in fields else "neither"
        raise Wrong(f"must have either rate or bursts, got {got}", advice="write e.g. rate: 50/s")
    length_s = fields.require("duration", seconds, example="60 s", stand_in=0.0)
    timeline = Timeline(
        duration_s=length_s,
        stages=fields.read(
            "rate", lambda node: _stages(node, length_s, problems), example="50/s", default=()
        ),
        bursts=fields.read(
            "bursts",
            lambda node: _bursts(node, length_s, problems),
            example="[{at: 0 s, name: healthy, requests: 100, tasks: 4}]",
            default=(),
        ),
        connections=fields.read(
            "connections", whole(1, MAX_CONNECTIONS), example="1000", default=1000
        ),
        events=fields.read(
            "events",
            lambda node: _events(node, length_s, system, problems, extensions),
            example=f"[{EVENT_EXAMPLE}]",
            default=(),
        ),
        objective=fields.read(
            "objective",
            lambda node: _objective(node, outcome, problems),
            example="99 %",
            default=None,
        ),
    )
    if "connections" in fields and "bursts" in fields:
        place = fields.node.key_places["connections"]
        problems.add(place, "connections is for a rate; remove it, a burst has as many as tasks")
    return timeline


def _stages(node: Node, length_s: float, problems: Problems) -> tuple[Stage, ...]:
    if not isinstance(node, ListNode):
        stages = [_stage(node, length_s)] if length_s else []
    else:
        found = items(
            node,
            problems,
            lambda node: _listed_stage(node, problems),
            name="rate",
            example="[{for: 20 s, rate: 10/s to 50/s}]",
        )
        stages = [stage for stage in found if stage is not None]
        sum_s = sum(stage.duration_s for stage in stages)
        if len(stages) == len(node.items) and length_s and abs(sum_s - length_s) > _TOLERANCE_S:
            raise Wrong(
                f"lasts {sum_s:g} s in all, and the duration is {length_s:g} s",
                advice="make them the same",
            )
    number = planned_requests(stages) if stages else 1
    if not 1 <= number <= MAX_REQUESTS:
        raise Wrong(f"must come to 1 to {MAX_REQUESTS} requests, got {number}")
    return tuple(stages)


def _stage(node: Node, length_s: float) -> Stage:
    first, last = ramp_per_s(written(node))
    return Stage(
        duration_s=length_s, rate_per_s=first, end_rate_per_s=None if first == last else last
    )


def _listed_stage(node: Node, problems: Problems) -> Stage | None:
    fields = Fields(node, problems, keys=("for", "rate"))
    length_s = fields.require("for", seconds, example="20 s", stand_in=0.0)
    return fields.require(
        "rate",
        lambda node: _stage(node, length_s) if length_s else None,
        example="10/s to 50/s",
        stand_in=None,
    )


def _moment(node: Node) -> float:
    return float(duration_s(written(node)))


def _begin(fields: Fields, length_s: float) -> float:
    def parse(node: Node) -> float:
        value = _moment(node)
        if length_s and value >= length_s:
            raise Wrong(
                f"must be before the end of the timeline at {length_s:g} s, got {describe(node)}"
            )
        return value

    return fields.require("at", parse, example="10 s", stand_in=0.0)


def _bursts(node: Node, length_s: float, problems: Problems) -> tuple[Burst, ...]:
    def parse(node: Node) -> Burst:
        fields = Fields(node, problems, keys=("at", "name", "requests", "tasks"))
        at_s = _begin(fields, length_s)
        return Burst(
            name=fields.read("name", _own_name, example="healthy", default=f"at {at_s:g} s"),
            at_s=at_s,
            requests=fields.read("requests", requests, example="100", default=0),
            tasks=fields.read("tasks", tasks, example="4", default=0),
        )

    _check_length(node)
    found = items(
        node, problems, parse, name="burst", example="{at: 0 s, name: healthy, requests: 100}"
    )
    _check_distinct([burst.name for burst in found], kind="burst")
    return tuple(sorted(found, key=lambda burst: burst.at_s))


def _events(
    node: Node, length_s: float, system: System, problems: Problems, extensions: Extensions
) -> tuple[Event, ...]:
    _check_length(node)
    found = items(
        node,
        problems,
        lambda node: _event(node, length_s, system, problems, extensions),
        name="event",
        example=EVENT_EXAMPLE,
    )
    _check_distinct([event.name for event in found], kind="event")
    for one, other in _overlapping(found):
        _check_together(one, other)
    return tuple(sorted(found, key=lambda event: event.at_s))


def _event(
    node: Node, length_s: float, system: System, problems: Problems, extensions: Extensions
) -> Event:
    fields = Fields(node, problems, keys=("at", "for", "name", "faults"))
    at_s = _begin(fields, length_s)
    none: tuple[Fault, ...] = ()
    faults = fields.require(
        "faults",
        lambda node: _some_faults(node, system, problems, extensions),
        example=FAULT_EXAMPLE,
        stand_in=none,
    )

    def length(node: Node) -> float:
        value = seconds(node)
        if length_s and at_s + value > length_s + _TOLERANCE_S:
            raise Wrong(
                f"must end with the timeline at {length_s:g} s, got {describe(node)} from "
                f"{at_s:g} s",
                advice="end it sooner, or leave it out",
            )
        return value

    lasts_s = fields.read("for", length, example="5 s", default=None)
    return Event(
        name=fields.read("name", _own_name, example="half fail", default=_described(faults)),
        at_s=at_s,
        end_s=length_s if lasts_s is None else min(length_s, at_s + lasts_s),
        faults=faults,
    )


def _some_faults(
    node: Node, system: System, problems: Problems, extensions: Extensions
) -> tuple[Fault, ...]:
    if not sequence(node).items:
        raise Wrong("must name at least one fault, got []")
    return read_faults(node, system, problems, extensions)


def _described(faults: tuple[Fault, ...]) -> str:
    return ", ".join(f"{fault.kind} {fault.service}" for fault in faults)


def _own_name(node: Node) -> str:
    value = name(node)
    if value in {BEFORE, WHOLE} or value.startswith(AFTER) or TOGETHER in value:
        raise Wrong(
            f"uses the name {show(value)}, as a phase is called", advice="choose another name"
        )
    return value


def _check_length(node: Node) -> None:
    count = len(sequence(node).items)
    if not 1 <= count <= MAX_EVENTS:
        raise Wrong(f"must be 1 to {MAX_EVENTS} in number, got {count}")


def _check_distinct(names: list[str], *, kind: str) -> None:
    for one, other in pairwise(sorted(names)):
        if one == other:
            raise Wrong(f"has two {kind}s called {show(one)}", advice="give each a name of its own")


def _overlapping(events: tuple[Event, ...]) -> list[tuple[Event, Event]]:
    return [
        (one, other)
        for number, other in enumerate(events)
        for one in events[:number]
        if one.at_s < other.end_s and other.at_s < one.end_s
    ]


def _check_together(one: Event, other: Event) -> None:
    for fault in one.faults:
        for another in other.faults:
            if not go_together(fault, another):
                raise Wrong(
                    f"has {show(one.name)} and {show(other.name)} on {show(fault.service)} at the "
                    "same time, where one would undo the other",
                    advice="end the first before the second begins",
                )


def _objective(node: Node, outcome: OutcomeRule, problems: Problems) -> Objective:
    if not isinstance(node, MappingNode):
        return Objective(share=_below_all(node), classes=outcome.classes)
    fields = Fields(node, problems, keys=("share", "of", "within"))
    one = choice(outcome.classes, kind="outcome class")
    return Objective(
        share=fields.require("share", _below_all, example="99 %", stand_in=0.5),
        classes=fields.read(
            "of",
            lambda node: items(node, problems, one, name="class", example="[fresh]"),
            example="[fresh]",
            default=outcome.classes,
        ),
        within_s=fields.read("within", seconds, example="1 s", default=None),
    )


def _below_all(node: Node) -> float:
    value = fraction(node)
    if not 0 < value < 1:
        raise Wrong(
            f"must be more than 0 % and less than 100 %, got {describe(node)}",
            advice="100 % would leave no budget; bound error in expect instead",
        )
    return value
