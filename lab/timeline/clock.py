"""Seconds of a timeline."""

import asyncio
from collections.abc import Callable
from time import perf_counter


class TimelineClock:
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
