"""Watches the generator itself: CPU time and lateness of the event loop."""

import asyncio
import time
from array import array
from collections.abc import Callable
from time import perf_counter

LOOK_EVERY_S = 0.01
MOST_LOOKS = 100_000  # kept; then every other one is dropped and looks become half as frequent


class Watch:
    """Looks at the clock every LOOK_EVERY_S and notes how late each look is.

    What else is to be done that often, and not more often, is *chore*.
    """

    def __init__(self, chore: Callable[[], None] = lambda: None) -> None:
        self._chore = chore
        self._loop = asyncio.get_running_loop()
        self._began_s = perf_counter()
        self._cpu_began_s = time.process_time()
        self._every_s = LOOK_EVERY_S
        self._lags_s = array("f")
        self._look_at(perf_counter() + self._every_s)

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def duration_s(self) -> float:
        """Return the seconds since the watch began."""
        return perf_counter() - self._began_s

    def cpu_share(self) -> float:
        """Return the process's CPU time since then over that."""
        return (time.process_time() - self._cpu_began_s) / self.duration_s()

    def lags_ms(self) -> tuple[float, float]:
        """Return the 99th percentile (nearest rank) and the maximum of the lateness."""
        pending = max(0.0, perf_counter() - self._expected_s)
        lags = sorted((*self._lags_s, pending))
        return 1000 * lags[-(len(lags) // 100) - 1], 1000 * lags[-1]

    def _look_at(self, moment: float) -> None:
        self._expected_s = moment
        self._timer = self._loop.call_later(moment - perf_counter(), self._look)

    def _look(self) -> None:
        now = perf_counter()
        self._lags_s.append(max(0.0, now - self._expected_s))
        if len(self._lags_s) >= MOST_LOOKS:
            self._lags_s = self._lags_s[::2]
            self._every_s *= 2
        self._chore()
        self._look_at(now + self._every_s)
