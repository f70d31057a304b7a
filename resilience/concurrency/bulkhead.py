"""A limit on how many calls to a source run at once."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from resilience._internal.checks import (
    DAY_S,
    MAX_COUNT,
    complaint_about_queue,
    expect,
    outside,
    refuse,
)
from resilience._internal.timing import time_limits
from resilience._internal.waiter_queue import WaiterQueue
from resilience.errors import BulkheadFull

_NONE_TAKEN = "no slot of {!r} is taken; release once for each acquire, or use 'async with'"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkheadSettings:
    """At most `max_concurrent` calls run; the next ones wait, first come first served.

    Attributes:
        max_concurrent: Calls at once, >= 1. No default: it depends on the source.
        max_queue: Calls that may wait for a slot, >= 0; the next is refused. The default of
            1,000 bounds memory and seldom refuses a call.
        max_wait_s: Longest wait for a slot in seconds, 10 ms..24 h; 30 s is how long people and
            proxies commonly wait for the whole reply.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    max_concurrent: int
    max_queue: int = 1_000
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        refuse(
            outside("max_concurrent", self.max_concurrent, 1, MAX_COUNT, "10 is usual", whole=True),
            complaint_about_queue(self.max_queue),
            outside("max_wait_s", self.max_wait_s, 0.01, DAY_S, "it is in seconds"),
        )


class Bulkhead:
    """Hands out slots; a slot that is given back goes to the caller that has waited longest.

    `async with bulkhead:` holds a slot for the block.

    Not thread-safe: use it from one event loop at a time.

    Args:
        settings: The rules.
        name: Of the source, for errors.
    """

    def __init__(self, settings: BulkheadSettings, *, name: str) -> None:
        expect("settings", settings, BulkheadSettings, "make them BulkheadSettings(...)")
        self.name = name
        self._settings = settings
        self._max_concurrent = settings.max_concurrent
        self._running = 0
        self._queue = WaiterQueue()
        self._limited = time_limits(settings.max_wait_s, lambda _limit_s: self._full())

    @property
    def running(self) -> int:
        """Return how many slots are taken."""
        return self._running

    @property
    def waiting(self) -> int:
        """Return how many callers wait for a slot."""
        return len(self._queue)

    def try_acquire(self) -> bool:
        """Take a slot if one is free, which is never so while a caller waits."""
        if self._running >= self._max_concurrent:
            return False
        self._running += 1
        return True

    async def acquire(self) -> None:
        """Take a slot, in turn; `release` it exactly once.

        Raises:
            BulkheadFull: The queue is full, or the caller has waited for `max_wait_s`.
        """
        if self.try_acquire():
            return
        if self.waiting >= self._settings.max_queue:
            raise self._full()
        with self._limited():
            await self._queue.wait(self._on_cancelled)

    def release(self) -> None:
        """Give a slot back.

        Raises:
            RuntimeError: No slot is taken.
        """
        if self._running > self._max_concurrent or not self._queue.serve():
            if not self._running:
                raise RuntimeError(_NONE_TAKEN.format(self.name))
            self._running -= 1

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def resize(self, max_concurrent: int) -> None:
        """Set the number of slots, >= 1, from now on; calls beyond it are not stopped.

        Raises:
            ValueError: The number is below 1.
        """
        if max_concurrent < 1:
            raise ValueError(f"a bulkhead has one slot or more, got {max_concurrent}; write 1")
        self._max_concurrent = max_concurrent
        while self._running < max_concurrent and self._queue.serve():
            self._running += 1

    def refuse_all(self, error: Callable[[], Exception]) -> None:
        """Raise a separate error in each waiting caller; calls that run are not affected."""
        self._queue.refuse_all(error)

    def _on_cancelled(self, served: bool) -> None:
        if served:
            self.release()

    def _full(self) -> BulkheadFull:
        return BulkheadFull(self.name, self._running, self.waiting)
