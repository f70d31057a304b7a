"""Many time limits of one length, watched by one timer."""

import asyncio
from collections.abc import Callable

from resilience.time_limit import TimeLimit

_ROUNDING_S = 1e-9


class TimeLimits:
    """Makes limits of `limit_s` seconds, each as `TimeLimit` describes it.

    Limits of one length expire in the order in which they begin, so that one timer, set to the
    first of them, does for all. A timer a limit would be most of what a call in good health
    costs: the loop keeps its timers in a heap, and nearly all are cancelled before they fire.
    """

    def __init__(self, limit_s: float, error: Callable[[float], Exception]) -> None:
        self.limit_s = limit_s
        self.error = error
        self._running: dict[_Watched, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # where the timer is set, if it is

    def begin(self) -> TimeLimit:
        """Return a limit for one block: `with limits.begin():`."""
        return _Watched(self)

    def add(self, limit: "_Watched", loop: asyncio.AbstractEventLoop) -> None:
        """Watch `limit`."""
        self._running[limit] = None
        if self._loop is not loop:
            self._set_timer(limit, loop)

    def remove(self, limit: "_Watched") -> None:
        """Do not watch `limit` any longer; the timer stays for the next."""
        self._running.pop(limit, None)

    def _set_timer(self, first: "_Watched", loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_at(first.deadline_s, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        now_s = loop.time()
        while self._running:
            first = next(iter(self._running))
            if first.deadline_s > now_s + _ROUNDING_S:
                self._set_timer(first, loop)
                return
            del self._running[first]
            first.expire()


class _Watched(TimeLimit):
    __slots__ = ("_limits",)

    def __init__(self, limits: TimeLimits) -> None:
        super().__init__(limits.limit_s, limits.error)
        self._limits = limits

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._limits.add(self, loop)

    def _stop(self) -> None:
        self._limits.remove(self)
