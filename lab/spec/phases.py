"""A timeline's phases: stretches in which the same faults are on. Pure.

A phase is called by the events that are on, or by those that ended last: `before`, `half fail`,
`half fail + slow`, `after slow`. Two stretches with the same events on are one phase.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.spec.timeline import AFTER, BEFORE, TOGETHER, WHOLE, Event, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When an event's faults were on, in seconds of the timeline's clock.

    From `asked_s`, when the lab began to put them on, they may have an effect, and from `on_s` they
    have it; from `ending_s` they may have none any more, and from `off_s` they have none: a service
    that was taken away is ready again.
    """

    asked_s: float
    on_s: float
    ending_s: float
    off_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the timeline with the same events on; it lasts until the next one begins."""

    phase: str
    begin_s: float


def planned(event: Event) -> Span:
    """Return when the event is on according to the file."""
    return Span(asked_s=event.at_s, on_s=event.at_s, ending_s=event.end_s, off_s=event.end_s)


def phase_names(timeline: Timeline) -> tuple[str, ...]:
    """Return the phases of a timeline in order, each once."""
    spans = {event.name: planned(event) for event in timeline.events}
    return tuple(dict.fromkeys(each.phase for each in stretches(timeline, spans)))


def row_names(timeline: Timeline) -> tuple[str, ...]:
    """Return what has figures of its own: phases (or bursts), events, the whole."""
    parts = [burst.name for burst in timeline.bursts] or phase_names(timeline)
    return tuple(dict.fromkeys([*parts, *(event.name for event in timeline.events), WHOLE]))


def stretches(timeline: Timeline, spans: Mapping[str, Span]) -> list[Stretch]:
    """Return the stretches, the first beginning at 0, by when each event truly was on.

    A phase begins once all has happened that it begins with, so faults that linger, because a
    service takes its time to start, count to the phase that ends. The order is that of the file,
    so that each run has the same phases; one that was swallowed by lingering faults is empty.
    """
    events = timeline.events
    moments = {moment for event in events for moment in (event.at_s, event.end_s)}
    found = [] if 0.0 in moments else [Stretch(phase=BEFORE, begin_s=0.0)]
    on: list[str] = []
    begin_s = 0.0
    for moment in sorted(moment for moment in moments if moment < timeline.duration_s):
        ended = [event.name for event in events if event.end_s == moment]
        began = [event.name for event in events if event.at_s == moment]
        on = [name for name in on if name not in ended] + began
        if moment:
            edges = [spans[name].off_s for name in ended] + [spans[name].asked_s for name in began]
            begin_s = max(begin_s, *edges)
        phase = TOGETHER.join(on) if on else AFTER + TOGETHER.join(ended)
        found.append(Stretch(phase=phase, begin_s=begin_s))
    return found
