"""Many deadlines of one distance, watched by one timer."""

import asyncio
from contextvars import Context
from typing import Protocol

from resilience.timing.clock import ROUNDING_S


class Due(Protocol):
    """What has a deadline on the event loop's clock, and something to do then."""

    deadline_s: float

    def expire(self) -> None:
        """Do it; the deadline is here."""


class Deadlines:
    """Calls `expire` of whoever is still there at its deadline.

    Whoever is added is due no earlier than those before, so that one timer, set to the first of
    them, does for all. A timer each would be most of what a call in good health costs: the loop
    keeps its timers in a heap, and nearly all are cancelled before they fire.

    The timer is nobody's: it runs in an empty context. That of the caller who happens to set it
    would be kept alive as long as others follow, and be current for them.
    """

    __slots__ = ("_loop", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[Due, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # where the timer is set, if it is

    def add(self, due: Due, loop: asyncio.AbstractEventLoop) -> None:
        """Watch `due`."""
        self._waiting[due] = None
        if self._loop is not loop:
            self._set_timer(due, loop)

    def remove(self, due: Due) -> None:
        """Do not watch `due` any longer, if it still was; the timer stays for the next."""
        self._waiting.pop(due, None)

    def _set_timer(self, first: Due, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_at(first.deadline_s, self._on_timer, loop, context=Context())

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        now_s = loop.time()
        try:
            while self._waiting:
                first = next(iter(self._waiting))
                if first.deadline_s > now_s + ROUNDING_S:
                    break
                del self._waiting[first]
                first.expire()
        finally:
            self._loop = None  # not before: who adds itself again meanwhile needs no timer more
            if self._waiting:
                self._set_timer(next(iter(self._waiting)), loop)
