"""Puts each event's faults on at its moment and takes them off at its end, however it ends."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from lab.faults import applied
from lab.running import RunningSystem
from lab.spec.timeline import Event
from lab.timeline.clock import TimelineClock
from lab.timeline.phases import Span

if TYPE_CHECKING:
    from lab.touches import Touches

Note = Callable[..., None]  # the name of what happened, then its fields


class Conductor:
    """Plays the events of one run.

    Attributes:
        spans: when each event that is over truly was on.
        touches: by event what each of its faults did.
        ended_early: the names of those whose faults were gone before they were taken off.
    """

    def __init__(
        self, system: RunningSystem, clock: TimelineClock, chance: random.Random, note: Note
    ) -> None:
        self.spans: dict[str, Span] = {}
        self.touches: dict[str, list[Touches | None]] = {}
        self.ended_early: list[str] = []
        self._system = system
        self._clock = clock
        self._chance = chance
        self._note = note

    async def play(self, events: tuple[Event, ...]) -> None:
        """Play all events to their ends.

        Raises:
            ExceptionGroup: of `NoValidData`: a fault could not be put on, or its service would
                not come back.
        """
        async with asyncio.TaskGroup() as group:
            for event in events:
                # Drawn now, so that an event's dice do not depend on how others take their time.
                chance = random.Random(self._chance.getrandbits(64))
                group.create_task(self._play(event, chance))

    async def _play(self, event: Event, chance: random.Random) -> None:
        await self._clock.until(event.at_s)
        asked_s = self._clock.now_s()
        async with AsyncExitStack() as faults:
            on = [
                await faults.enter_async_context(applied(fault, self._system, chance))
                for fault in event.faults
            ]
            on_s = self._clock.now_s()
            self._tell("event.on", event, asked_s=asked_s, at_s=on_s)
            await self._clock.until(event.end_s)
            self.touches[event.name] = [await fault.touches() for fault in on]
            if not all([await fault.is_active() for fault in on]):
                self.ended_early.append(event.name)
            ending_s = self._clock.now_s()
        off_s = self._clock.now_s()
        self.spans[event.name] = Span(asked_s=asked_s, on_s=on_s, ending_s=ending_s, off_s=off_s)
        self._tell("event.off", event, asked_s=ending_s, at_s=off_s)

    def _tell(self, what: str, event: Event, **moments: float) -> None:
        rounded = {name: round(moment, 6) for name, moment in moments.items()}
        self._note(what, name=event.name, **rounded)
