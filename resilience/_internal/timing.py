"""The clock of every limit, window and wait; deadlines and time limits on it."""

import asyncio
import time
from asyncio import get_running_loop
from collections.abc import Callable
from contextvars import Context
from functools import partial
from types import TracebackType
from typing import Protocol, Self

ROUNDING_S = 1e-9
"""Times that differ by no more are equal: sums of seconds are rounded."""


def loop_time_s() -> float:
    """Return the running event loop's time in seconds, which never runs backwards."""
    return get_running_loop().time()


def wall_time_s() -> float:
    """Return the time of day in seconds since 1970, or the loop's `wall_time` if it has one."""
    now_s: float = getattr(get_running_loop(), "wall_time", time.time)()
    return now_s


class Due(Protocol):
    """An object with a deadline on the event loop's clock, and something to do then."""

    deadline_s: float

    def expire(self) -> None:
        """Act: the deadline has come."""


class Deadlines:
    """Many deadlines at the same distance, watched by one timer.

    An object that is still here at its deadline has its `expire` called. Each one added is due no
    earlier than those before, so that one timer, set to the first, is enough. A timer each would be
    most of the cost of a successful call: the loop keeps its timers in a heap, and nearly all are
    cancelled before they fire.

    The timer runs in an empty context: that of the caller who happens to set it would be kept alive
    as long as others follow, and be current for them.
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
        """Stop watching `due`, if it still was watched; the timer stays for the next."""
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
            self._loop = None  # not before: what adds itself again in `expire` needs no new timer
            if self._waiting:
                self._set_timer(next(iter(self._waiting)), loop)


class TimeLimit:
    """Cancel the block when `limit_s` seconds are over, and raise `error(limit_s)` instead.

    Only a cancellation of our own becomes the error: when the caller cancels too, even at the
    very moment the limit expires, or an outer limit fires, the cancellation passes through; a
    block that ends in a value or in another exception in spite of the expiry keeps it.

    `asyncio.timeout` of Python 3.11 asks whether *no* cancellation is outstanding, so inside a
    task that handles an earlier one (a call made in a `finally`) it lets its own escape as the
    caller's. This one compares with the count at entry, and is a plain context manager, which
    costs half as much.

    Attributes:
        deadline_s: When the limit expires, on the event loop's clock.

    Args:
        limit_s: In seconds.
        error: Makes what is raised, from `limit_s`.
        among: The deadlines of limits of the same length, to share their timer; None for a timer
            of its own.
    """

    __slots__ = (
        "_among",
        "_cancelling",
        "_error",
        "_expired",
        "_handle",
        "_limit_s",
        "_task",
        "deadline_s",
    )

    def __init__(
        self,
        limit_s: float,
        error: Callable[[float], Exception],
        among: Deadlines | None = None,
    ) -> None:
        self._limit_s = limit_s
        self._error = error
        self._among = among
        self._expired = False

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a time limit needs a task to cancel; await it from a coroutine")
        self._task = task
        self._cancelling = task.cancelling()
        self.deadline_s = loop.time() + self._limit_s
        if self._among is not None:
            self._among.add(self, loop)
        else:
            self._handle = loop.call_at(self.deadline_s, self.expire)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._among is not None:
            self._among.remove(self)
        else:
            self._handle.cancel()
        if not self._expired:
            return
        cancelled_by_others = self._task.uncancel() > self._cancelling
        if isinstance(error, asyncio.CancelledError) and not cancelled_by_others:
            raise self._error(self._limit_s) from error

    def expire(self) -> None:
        """Cancel the block now."""
        self._expired = True
        self._task.cancel()


def time_limits(limit_s: float, error: Callable[[float], Exception]) -> Callable[[], TimeLimit]:
    """Return what makes a limit of `limit_s` seconds for one block, as `TimeLimit` describes it.

    `limited = time_limits(…)` once, then `with limited():` for each block: all share one timer.
    """
    return partial(TimeLimit, limit_s, error, Deadlines())
