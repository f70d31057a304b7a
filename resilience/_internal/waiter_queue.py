"""A queue of coroutines that wait, first come first served."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable


class WaiterQueue:
    """A FIFO of waiters; its owner serves or refuses the head.

    A waiter that is cancelled leaves no hole. Every operation takes constant time.
    """

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        # Linked, not a deque: a cancelled waiter leaves from the middle.
        self._waiters: OrderedDict[asyncio.Future[None], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def head_deadline_s(self) -> float:
        """Return until when the head waits, on the event loop's clock; infinite if it is empty."""
        self._drop_cancelled()
        return next(iter(self._waiters.values()), math.inf)

    async def wait(
        self, on_cancelled: Callable[[bool], None], deadline_s: float = math.inf
    ) -> None:
        """Return when served, raise when refused.

        Args:
            deadline_s: What `head_deadline_s` says once this waiter is the head.
            on_cancelled: Called if the waiter is cancelled, with whether it had been served by
                then without knowing it yet: what it was given must be given back.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = deadline_s
        try:
            await waiter
        except asyncio.CancelledError:
            waited = self._waiters.pop(waiter, None) is not None
            if waited or waiter.cancelled():
                on_cancelled(False)
            elif waiter.exception() is None:
                on_cancelled(True)
            raise

    def serve(self) -> bool:
        """Let the head continue; return whether there was one."""
        waiter = self._pop() if self._waiters else None
        if waiter is not None:
            waiter.set_result(None)
        return waiter is not None

    def refuse(self, error: Exception) -> bool:
        """Raise `error` at the head; return whether there was one."""
        waiter = self._pop()
        if waiter is not None:
            waiter.set_exception(error)
        return waiter is not None

    def refuse_all(self, error: Callable[[], Exception]) -> int:
        """Raise an error of its own at each that waits; return how many there were."""
        refused = 0
        while self._waiters and self.refuse(error()):
            refused += 1
        return refused

    def _pop(self) -> asyncio.Future[None] | None:
        self._drop_cancelled()
        return self._waiters.popitem(last=False)[0] if self._waiters else None

    def _drop_cancelled(self) -> None:
        """Forget those at the head who were cancelled and have not run since."""
        while self._waiters and next(iter(self._waiters)).done():
            self._waiters.popitem(last=False)
