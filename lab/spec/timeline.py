"""The `timeline` of an experiment: a load over time, and the faults that come and go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from pydantic import ValidationInfo

from lab.spec.faults import FAULT_EXAMPLE, Fault, FaultsField, go_together
from lab.spec.models import Entry, Spec, entries, made, reads, says
from lab.spec.problems import Wrong
from lab.spec.quantities import (
    MAX_REQUESTS,
    RAMP,
    SHARE,
    Line,
    Moment,
    RequestCount,
    Seconds,
    TaskCount,
    name,
    to_share,
    whole_number,
    written,
)
from lab.spec.yaml_tree import ListNode, MappingNode, Node, describe
from loadgen import Stage
from loadgen.quantities import ramp_per_s, show
from loadgen.schedule import planned_requests

BEFORE = "before"
AFTER = "after "
TOGETHER = " + "
WHOLE = "whole"  # the name of the row that all phases make up
EVENT_EXAMPLE = f"{{at: 10 s, for: 5 s, faults: {FAULT_EXAMPLE}}}"
TIMELINE_EXAMPLE = f"{{duration: 60 s, rate: 50/s, events: [{EVENT_EXAMPLE}]}}"
MAX_EVENTS = 100
_TOLERANCE_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Faults that come together at one moment of a timeline and go together at another."""

    name: str
    at_s: float  # >= 0, from the timeline's beginning
    end_s: float  # > at_s
    faults: tuple[Fault, ...]


def _own_name(node: Node) -> str:
    value = name(node)
    if value in {BEFORE, WHOLE} or value.startswith(AFTER) or TOGETHER in value:
        raise Wrong(
            f"uses the name {show(value)}, as a phase is called", advice="choose another name"
        )
    return value


OwnName = Annotated[str, reads(_own_name)]
At = Annotated[Moment, says("10 s", "from the timeline's beginning", alias="at")]


class EventKeys(Spec):
    """The keys of one of the `events`."""

    at_s: At
    for_s: Annotated[
        Seconds | None,
        says("5 s", "how long; to the end of the timeline, where it is left out", alias="for"),
    ] = None
    own_name: Annotated[
        OwnName | None,
        says(
            "half fail", "of its row in the report; its faults, where it is left out", alias="name"
        ),
    ] = None
    faults: Annotated[FaultsField, says(FAULT_EXAMPLE, "that are on together")]

    def event(self, length_s: float) -> Event:
        """Return the event in a timeline of a length."""
        end_s = length_s if self.for_s is None else min(length_s, self.at_s + self.for_s)
        named = self.own_name or ", ".join(f"{each.kind} {each.service}" for each in self.faults)
        return Event(name=named, at_s=self.at_s, end_s=end_s, faults=self.faults)


class Burst(Spec):
    """A closed load at one moment of a timeline."""

    at_s: At
    name: Annotated[
        OwnName, says("healthy", "of its row in the report; its moment, where it is left out")
    ] = ""
    requests: Annotated[  # 0: until it is the load's
        RequestCount, says("100", "as in a `load`, which has it where it is left out")
    ] = 0
    tasks: Annotated[TaskCount, says("4", "as in a `load`, which has it where it is left out")] = 0


class ListedStage(Spec):
    """A part of a `rate` over time."""

    for_s: Annotated[Seconds, says("20 s", "how long", alias="for")]
    ramp: Annotated[
        tuple[float, float],
        reads(lambda node: ramp_per_s(written(node)), schema=RAMP),
        says("10/s to 50/s", "one rate, or from one to another", alias="rate"),
    ]


def _below_all(node: Node) -> float:
    value: float = to_share(node)
    if not 0 < value < 1:
        raise Wrong(
            f"must be more than 0 % and less than 100 %, got {describe(node)}",
            advice="100 % would leave no budget; bound error in expect instead",
        )
    return value


class Objective(Spec):
    """Which share of all replies must be good; what may be missing from all is the error budget."""

    share: Annotated[float, reads(_below_all, schema=SHARE), says("99 %", "between 0 % and 100 %")]
    classes: Annotated[  # a reply of another class is not good
        tuple[Line, ...],
        says("[fresh]", "the classes that are good; all, where it is left out", alias="of"),
    ] = ()
    within_s: Annotated[
        Seconds | None,
        says("1 s", "a later reply is not good, from when its request was due", alias="within"),
    ] = None


def _length(info: ValidationInfo) -> float | None:
    """Return the length of the timeline that is being read; None if it is wrong."""
    length_s: float | None = info.data.get("duration_s")
    return length_s


def _read_stages(node: Node, info: ValidationInfo) -> tuple[Stage, ...]:
    length_s = _length(info)
    if isinstance(node, ListNode):
        listed = entries(node, lambda _, each: ListedStage.model_validate(each))
        parts = [(each.for_s, each.ramp) for each in listed]
        sum_s = sum(each.for_s for each in listed)
        if length_s and abs(sum_s - length_s) > _TOLERANCE_S:
            raise Wrong(
                f"lasts {sum_s:g} s in all, and the duration is {length_s:g} s",
                advice="make them the same",
            )
    else:
        parts = [(length_s or 1.0, ramp_per_s(written(node)))]
    stages = tuple(
        Stage(duration_s=for_s, rate_per_s=first, end_rate_per_s=None if first == last else last)
        for for_s, (first, last) in parts
    )
    number = planned_requests(stages) if length_s else 1
    if not 1 <= number <= MAX_REQUESTS:
        raise Wrong(f"must come to 1 to {MAX_REQUESTS} requests, got {number}")
    return stages


def _read_bursts(node: Node, info: ValidationInfo) -> tuple[Burst, ...]:
    def parse(_: str | int, each: Node) -> Burst:
        burst = Burst.model_validate(each, context=info.context)
        _check_begin(burst.at_s, each, _length(info))
        return burst.model_copy(update={"name": burst.name or f"at {burst.at_s:g} s"})

    _check_count(node)
    found = entries(node, parse)
    _check_distinct([burst.name for burst in found], kind="burst")
    return tuple(sorted(found, key=lambda burst: burst.at_s))


def _read_events(node: Node, info: ValidationInfo) -> tuple[Event, ...]:
    length_s = _length(info)

    def parse(_: str | int, each: Node) -> Event:
        keys = EventKeys.model_validate(each, context=info.context)
        _check_begin(keys.at_s, each, length_s)
        _check_end(keys, each, length_s)
        return keys.event(length_s or keys.at_s)

    _check_count(node)
    found = entries(node, parse)
    _check_distinct([event.name for event in found], kind="event")
    for one, other in _overlapping(found):
        _check_together(one, other)
    return tuple(sorted(found, key=lambda event: event.at_s))


def _check_count(node: Node) -> None:
    if not isinstance(node, ListNode):
        raise Wrong(f"must be a list, got {describe(node)}")
    if not 1 <= len(node) <= MAX_EVENTS:
        raise Wrong(f"must be 1 to {MAX_EVENTS} in number, got {len(node)}")


def _check_begin(at_s: float, node: Node, length_s: float | None) -> None:
    if length_s and at_s >= length_s:
        assert isinstance(node, MappingNode)  # noqa: S101 - it was read
        raise Wrong(
            f"must be before the end of the timeline at {length_s:g} s, got {describe(node['at'])}",
            name="at",
            advice="write e.g. at: 10 s",
            place=node["at"].place,
        )


def _check_end(event: EventKeys, node: Node, length_s: float | None) -> None:
    assert isinstance(node, MappingNode)  # noqa: S101 - it was read
    if not event.faults:
        raise Wrong(
            "must name at least one fault, got []",
            name="faults",
            advice=f"write e.g. faults: {FAULT_EXAMPLE}",
            place=node["faults"].place,
        )
    if length_s and event.for_s and event.at_s + event.for_s > length_s + _TOLERANCE_S:
        raise Wrong(
            f"must end with the timeline at {length_s:g} s, got {describe(node['for'])} from "
            f"{event.at_s:g} s",
            name="for",
            advice="end it sooner, or leave it out",
            place=node["for"].place,
        )


def _check_distinct(names: list[str], *, kind: str) -> None:
    for one, other in pairwise(sorted(names)):
        if one == other:
            raise Wrong(f"has two {kind}s called {show(one)}", advice="give each a name of its own")


def _overlapping(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    for number, other in enumerate(events):
        for one in events[:number]:
            if one.at_s < other.end_s and other.at_s < one.end_s:
                yield one, other


def _check_together(one: Event, other: Event) -> None:
    for fault in one.faults:
        for another in other.faults:
            if not go_together(fault, another):
                raise Wrong(
                    f"has {show(one.name)} and {show(other.name)} on {show(fault.service)} at the "
                    "same time, where one would undo the other",
                    advice="end the first before the second begins",
                )


def _read_objective(node: Node, info: ValidationInfo) -> Objective:
    if isinstance(node, MappingNode):
        return Objective.model_validate(node, context=info.context)
    return Objective(share=_below_all(node))


class Timeline(Spec):
    """A load over time while faults come and go: an open load of `stages`, or `bursts`."""

    duration_s: Annotated[  # no event or burst begins later, and every event is over by then
        Seconds, says("60 s", "of the whole", alias="duration")
    ]
    stages: Annotated[
        tuple[Stage, ...],
        made(_read_stages, schema=RAMP | list[ListedStage]),
        says(
            "50/s",
            "one rate or ramp, or a list of `for` and `rate` that lasts as long as "
            "`duration`. `load` then says neither how much nor when",
            alias="rate",
        ),
    ] = ()
    bursts: Annotated[
        tuple[Burst, ...],
        made(_read_bursts, schema=list[Burst]),
        Entry(name="burst", example="{at: 0 s, name: healthy, requests: 100}"),
        says(
            "[{at: 0 s, name: healthy, requests: 100, tasks: 4}]",
            "closed loads: a list of `at`, `name`, `requests`, `tasks`",
        ),
    ] = ()
    connections: Annotated[
        int,
        whole_number(1, 10_000),
        says(
            "1000",
            "most requests of a `rate` that are under way at once; one that finds none "
            "is counted as not sent",
        ),
    ] = 1000
    events: Annotated[
        tuple[Event, ...],
        made(_read_events, schema=list[EventKeys]),
        Entry(name="event", example=EVENT_EXAMPLE),
        says(
            f"[{EVENT_EXAMPLE}]",
            "`at`, `for` (to the end), `name` (its faults), `faults`; up to 100",
        ),
    ] = ()
    objective: Annotated[
        Objective | None,
        made(_read_objective, schema=SHARE | Objective),
        says(
            "99 %",
            "the share that must be good, or `share`, `of` (classes, all) and `within` "
            "(from when a request was due): what may be missing is the error budget",
        ),
    ] = None

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield what is wrong with how much is sent and when."""
        if is_complete and ("rate" in node) == ("bursts" in node):
            got = "both" if "rate" in node else "neither"
            what = f"must have either rate or bursts, got {got}"
            yield Wrong(what, advice="write e.g. rate: 50/s")
        if "connections" in node and "bursts" in node:
            what = "connections is for a rate"
            advice = "remove it, a burst has as many as tasks"
            yield Wrong(what, name="", advice=advice, at="connections")
