"""A deadline on the event loop's clock around a block of awaits."""

import asyncio
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from resilience.timing.deadlines import Deadlines


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
