"""Plays one run of a cell: its requests, the events of its timeline, and looks at what goes on.

All is told by one clock, which is 0 when the run begins.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from lab.control import NoAnswerError, ask
from lab.errors import LabError, NoValidData
from lab.faults import AppliedFault, applied
from lab.results.recovery import Reading
from lab.results.touches import Touches
from lab.run.checks import foreign_faults
from lab.run.engine import Engine, counts_of_cut_short, in_words
from lab.run.loads import Send
from lab.running import RunningSystem
from lab.spec.faults import Fault
from lab.spec.phases import Span
from lab.spec.timeline import Event
from loadgen import Samples

Note = Callable[..., None]  # the name of what happened, then its fields

BREAKER_EVERY_S = 0.1
BREAKER_ANSWER_S = 0.5
BREAKER_FIELD = "breaker"  # beside the field that counts the attempts
FOREIGN_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultsOn:
    """Faults that were on together during a run: those of its condition, or of an event.

    Touches are None, each in the faults' order, where nobody can count them.
    """

    name: str
    faults: Sequence[Fault]
    since_applied: Sequence[Touches | None]
    in_run: Sequence[Touches | None]
    are_still_on: bool  # at the end: of the run, or of the event
    span: Span | None = None  # of an event; None: from before the run until after it


@dataclass(slots=True, kw_only=True)
class Played:
    """What was seen of one run, by its clock."""

    parts: dict[str, Samples] = field(default_factory=dict)  # by burst; else under an empty name
    faults: list[FaultsOn] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)  # of the breaker: one per change
    foreign: dict[str, float] = field(default_factory=dict)  # what others did, and when seen

    @property
    def spans(self) -> Mapping[str, Span]:
        """When each event was on."""
        return {each.name: each.span for each in self.faults if each.span is not None}


class Clock:
    """Starts at 0 when it is made; samples, events and looks at a breaker are told by it.

    Waits are measured by the event loop, stamps by *read*, which is the load generator's clock.
    """

    def __init__(self, read: Callable[[], float] = perf_counter) -> None:
        self._read = read
        self._loop = asyncio.get_running_loop()
        self._deadline_of_0 = self._loop.time()
        self.began = read()

    def now_s(self) -> float:
        """Return the seconds since the beginning."""
        return self._read() - self.began

    async def until(self, moment_s: float) -> None:
        """Wait until *moment_s*; not at all if that has passed."""
        await asyncio.sleep(max(0.0, self._deadline_of_0 + moment_s - self._loop.time()))


class Player:
    """Plays one run.

    Args:
        system: that is up.
        engine: sends the loads.
        note: told what happens.
        on_finished: told how many requests of a load have finished.
    """

    def __init__(
        self,
        system: RunningSystem,
        engine: Engine,
        note: Note,
        on_finished: Callable[[int], None],
    ) -> None:
        self.played = Played()
        self._system = system
        self._engine = engine
        self._note = note
        self._on_finished = on_finished
        self._clock = Clock()

    def now_s(self) -> float:
        """Return how long the run has been going on."""
        return self._clock.now_s()

    async def play_load(self, send: Send) -> Played:
        """Send one load under faults that are on already.

        Raises:
            NoValidData: the generator ended or refused the load.
        """
        await self._look_for_others()
        self.played.parts[""] = await self._send(send)
        await self._look_for_others()
        return self.played

    async def play_timeline(
        self, sends: Sequence[Send], events: Sequence[Event], rng: random.Random
    ) -> Played:
        """Send the loads while events come and go, each at its moment.

        Raises:
            NoValidData: the generator ended or refused a load, a fault could not be applied, or
                its service would not come back.
        """
        self._note("timeline.began", at_s=0.0)
        try:
            async with asyncio.TaskGroup() as group:
                watches: list[Coroutine[Any, Any, None]] = [
                    self._every(FOREIGN_EVERY_S, self._look_for_others)
                ]
                if url := self._breaker_url():
                    watches.append(self._every(BREAKER_EVERY_S, lambda: self._read_breaker(url)))
                watching = [group.create_task(each) for each in watches]
                # Drawn now, so that what an event hits does not depend on how others take time.
                playing = [
                    group.create_task(self._play(event, random.Random(rng.getrandbits(64))))
                    for event in events
                ]
                for send in sends:
                    await self._send_at_its_moment(send)
                await asyncio.gather(*playing)
                for each in watching:
                    each.cancel()
            await self._look_for_others()
        except* (LabError, OSError) as failures:
            raise NoValidData(str(_first(failures))) from failures
        return self.played

    async def _send_at_its_moment(self, send: Send) -> None:
        await self._clock.until(send.at_s)
        if send.name:
            self._note("burst.began", name=send.name, at_s=round(self._clock.now_s(), 6))
        samples = await self._send(send)
        assert samples.report is not None  # noqa: S101 - the lab's own always has one
        on_the_clock = Samples()
        later_s = samples.report.began_s - self._clock.began
        on_the_clock.extend(samples, later_s=later_s)
        on_the_clock.report = samples.report
        self.played.parts[send.name] = on_the_clock

    async def _send(self, send: Send) -> Samples:
        samples = Samples()
        try:
            return await self._engine.send(send.load, on_finished=self._on_finished, into=samples)
        except asyncio.CancelledError:
            counts = counts_of_cut_short(samples)
            at_s = round(self._clock.now_s(), 6)
            self._note("load.interrupted", at_s=at_s, name=in_words(counts), **counts)
            raise

    async def _play(self, event: Event, rng: random.Random) -> None:
        """Put an event's faults on at its moment and take them off at its end, however it ends."""
        await self._clock.until(event.at_s)
        asked_s = self._clock.now_s()
        async with AsyncExitStack() as stack:
            on = [
                await stack.enter_async_context(applied(fault, self._system, rng))
                for fault in event.faults
            ]
            on_s = self._clock.now_s()
            self._tell("event.on", event, asked_s=asked_s, at_s=on_s)
            await self._clock.until(event.end_s)
            touches = [await fault.touches() for fault in on]
            are_on = await all_on(on)
            ending_s = self._clock.now_s()
        off_s = self._clock.now_s()
        self.played.faults.append(
            FaultsOn(
                name=event.name,
                faults=event.faults,
                since_applied=touches,
                in_run=touches,
                are_still_on=are_on,
                span=Span(asked_s=asked_s, on_s=on_s, ending_s=ending_s, off_s=off_s),
            )
        )
        self._tell("event.off", event, asked_s=ending_s, at_s=off_s)

    def _tell(self, what: str, event: Event, **moments: float) -> None:
        rounded = {name: round(moment, 6) for name, moment in moments.items()}
        self._note(what, name=event.name, **rounded)

    async def _every(self, period_s: float, look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Look for ever; the next look is a period later, or at once if this one took longer."""
        moment_s = 0.0
        while True:
            await look()
            moment_s = max(moment_s + period_s, self._clock.now_s())
            await self._clock.until(moment_s)

    async def _look_for_others(self) -> None:
        if found := await foreign_faults(self._system):
            self.played.foreign.setdefault(found, self._clock.now_s())

    def _breaker_url(self) -> str | None:
        """Return where the service that counts its attempts tells of its circuit."""
        for service in self._system.system.services:
            if service.attempts is not None:
                return self._system.url(service.name) + service.attempts.path
        return None

    async def _read_breaker(self, url: str) -> None:
        try:
            answer = await ask(self._system.http, "GET", url, within_s=BREAKER_ANSWER_S)
        except NoAnswerError:
            return
        state, readings = answer.field(BREAKER_FIELD), self.played.readings
        if isinstance(state, str) and (not readings or readings[-1].state != state):
            reading = Reading(at_s=self._clock.now_s(), state=state)
            readings.append(reading)
            self._note("breaker.seen", at_s=round(reading.at_s, 6), state=state)


async def all_on(faults: Sequence[AppliedFault]) -> bool:
    """Tell whether each of *faults* is on, as it was asked for."""
    return all([await fault.is_active() for fault in faults])


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
