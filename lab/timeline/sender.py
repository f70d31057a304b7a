"""Sends the load of a timeline: its open load at once, its bursts one after another."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lab.engine import Engine, counts_of_cut_short, in_words
from lab.spec.timeline import Timeline
from lab.timeline.clock import TimelineClock
from loadgen import Closed, Load, Open, Samples

Note = Callable[..., None]


@dataclass(slots=True, kw_only=True)
class Sent:
    """What was sent, by the timeline's clock.

    Attributes:
        parts: samples by the name of their burst; of an open load all under one empty name.
        limits: reasons to take the generator for the limit of what was measured.
    """

    parts: dict[str, Samples] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)


async def send_all(
    timeline: Timeline, load: Load, engine: Engine, clock: TimelineClock, note: Note
) -> Sent:
    """Send what the timeline says and return it once all of it has ended.

    Raises:
        NoValidData: the generator ended or refused the load.
    """
    sent = Sent()
    if timeline.stages:
        shape = Open(stages=timeline.stages, max_connections=timeline.connections)
        await _send("", replace(load, shape=shape), engine, clock, note, sent)
    for burst in timeline.bursts:
        await clock.until(burst.at_s)
        note("burst.began", name=burst.name, at_s=round(clock.now_s(), 6))
        shape_of_burst = Closed(requests=burst.requests, tasks=burst.tasks)
        await _send(burst.name, replace(load, shape=shape_of_burst), engine, clock, note, sent)
    return sent


async def _send(  # noqa: PLR0917 - all that a load of a timeline needs
    name: str, load: Load, engine: Engine, clock: TimelineClock, note: Note, sent: Sent
) -> None:
    part = Samples()
    try:
        await engine.send(load, on_finished=lambda _: None, into=part)
    except asyncio.CancelledError:
        counts = counts_of_cut_short(part)
        at_s = round(clock.now_s(), 6)
        note("load.interrupted", at_s=at_s, name=in_words(counts), **counts)
        raise
    report = part.report
    assert report is not None  # noqa: S101 - the lab's own always has one
    on_the_clock = Samples()
    on_the_clock.extend(part, later_s=report.began_s - clock.began)
    sent.parts[name] = on_the_clock
    sent.limits.extend(
        f"figures of the generator and not of the system: {limit}" for limit in report.limits
    )
