"""How long it took to notice each event's faults, and to be well again once they were off. Pure.

A reply is *well* if it is of the outcome's first class (`fresh`, say).
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lab.spec.phases import Span
from lab.spec.timeline import Timeline
from loadgen import Sample, Samples

OPEN = "open"

STEADY_S = 1.0  # how long replies must be well for the system to have recovered
EVENT_FIGURES = (
    "breaker_opens_ms",
    "first_unwell_ms",
    "detected_ms",
    "first_well_ms",
    "recovered_ms",
    "unwell_after",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A circuit's state from `at_s` on, when it was first seen: `closed`, `open`, `half-open`."""

    at_s: float
    state: str


def event_figures(
    timeline: Timeline,
    samples: Samples,
    spans: Mapping[str, Span],
    readings: Sequence[Reading],
    *,
    well: str,
) -> dict[str, dict[str, float]]:
    """Return what is known of each event, by its name; what is not has no entry.

    From the moment when its faults were asked for:
    `breaker_opens_ms`: until the circuit was seen open; not if it had been open already.
    `first_unwell_ms`: until the first reply that was not well.
    `detected_ms`: the first of these if a breaker told of itself, else the second.

    From the moment when they were off, if no other event was on then, of an open load:
    `first_well_ms`: until the first well reply to a request due after it.
    `recovered_ms`: until the first reply of a second in which as many were well as before the
    first event.
    `unwell_after`: how many replies were not well until then.
    """
    ordered = sorted(samples, key=lambda sample: sample.scheduled_s)
    first_s = min((span.asked_s for span in spans.values()), default=math.inf)
    steady = _unwell_share([one for one in ordered if one.scheduled_s < first_s], well)
    found: dict[str, dict[str, float]] = {}
    for name, span in spans.items():
        found[name] = _detection(span, ordered, readings, well)
        others = [other for other in spans.values() if other is not span]
        is_alone = not any(one.asked_s <= span.off_s < one.off_s for one in others)
        if timeline.stages and is_alone:
            until_s = min(
                (one.asked_s for one in others if one.asked_s > span.off_s),
                default=timeline.duration_s,
            )
            after = [one for one in ordered if span.off_s <= one.scheduled_s < until_s]
            found[name] |= _recovery(span.off_s, after, until_s, steady, well)
    return found


def _detection(
    span: Span, samples: Iterable[Sample], readings: Sequence[Reading], well: str
) -> dict[str, float]:
    found = {}
    before = [each.state for each in readings if each.at_s < span.asked_s]
    opened = [
        each.at_s
        for each in readings
        if each.state == OPEN and span.asked_s <= each.at_s <= span.off_s
    ]
    if opened and before[-1:] != [OPEN]:
        found["breaker_opens_ms"] = 1000 * (opened[0] - span.asked_s)
    unwell = [
        each.finished_s
        for each in samples
        if each.outcome != well
        and each.finished_s >= span.asked_s
        and each.scheduled_s < span.off_s
    ]
    if unwell:
        found["first_unwell_ms"] = 1000 * (min(unwell) - span.asked_s)
    detected = found.get("breaker_opens_ms" if readings else "first_unwell_ms")
    return found if detected is None else found | {"detected_ms": detected}


def _recovery(
    off_s: float, after: Sequence[Sample], until_s: float, steady: float, well: str
) -> dict[str, float]:
    """Return the figures of recovery from samples in the order in which they were due."""
    found = {}
    if finishes := [each.finished_s for each in after if each.outcome == well]:
        found["first_well_ms"] = 1000 * (min(finishes) - off_s)
    due_s = [each.scheduled_s for each in after]
    unwell_up_to = [0, *accumulate(each.outcome != well for each in after)]
    for number, first in enumerate(after):
        if first.scheduled_s + STEADY_S > until_s:
            break
        end = bisect_left(due_s, first.scheduled_s + STEADY_S)
        unwell = unwell_up_to[end] - unwell_up_to[number]
        if first.outcome == well and unwell <= math.ceil(steady * (end - number)):
            found["recovered_ms"] = 1000 * (first.finished_s - off_s)
            found["unwell_after"] = unwell_up_to[number]
            break
    return found


def _unwell_share(samples: Sequence[Sample], well: str) -> float:
    """Return the share that was not well before anything happened; 0 if nothing was sent."""
    return sum(each.outcome != well for each in samples) / len(samples) if samples else 0.0
