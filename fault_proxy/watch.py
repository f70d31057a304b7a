"""Watches the proxy itself: whether its event loop stood still."""

import asyncio

LOOK_EVERY_S = 0.01
STALL_S = 0.1  # a process that waits for its turn on a busy machine is up to 50 ms late at times


class Watch:
    """Looks at the clock every LOOK_EVERY_S; a look STALL_S late or later is a stall."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stalled_s = 0.0
        self._look_next()

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def stalled_s(self) -> float:
        """Return the seconds of all stalls so far, a look that is due by now included."""
        return self._stalled_s + self._stall_s()

    def _look(self) -> None:
        self._stalled_s += self._stall_s()
        self._look_next()

    def _stall_s(self) -> float:
        late_s = self._loop.time() - self._expected_s
        return late_s if late_s >= STALL_S else 0.0

    def _look_next(self) -> None:
        self._expected_s = self._loop.time() + LOOK_EVERY_S
        self._timer = self._loop.call_at(self._expected_s, self._look)
