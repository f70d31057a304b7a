"""Looks for other people's faults while a timeline runs."""

from lab.injector_checks import foreign_faults
from lab.running import RunningSystem
from lab.timeline.clock import TimelineClock

LOOK_EVERY_S = 1.0


class ForeignFaultWatch:
    """Asks all injectors and proxies every second.

    Attributes:
        found: what others did, and when it was seen; each thing once.
    """

    def __init__(self, system: RunningSystem, clock: TimelineClock) -> None:
        self.found: dict[str, float] = {}
        self._system = system
        self._clock = clock

    async def watch(self) -> None:
        """Look until cancelled; `NoValidData` if a fault is at one process of several."""
        moment_s = 0.0
        while True:
            await self.look()
            moment_s = max(moment_s + LOOK_EVERY_S, self._clock.now_s())
            await self._clock.until(moment_s)

    async def look(self) -> None:
        """Look once."""
        if foreign := await foreign_faults(self._system):
            self.found.setdefault(foreign, self._clock.now_s())
