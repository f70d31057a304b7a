"""Coroutines that wait their turn, first come first served."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable


class WaitingLine:
    """A FIFO of waiters; whoever owns it serves or refuses its head.

    A waiter that is cancelled leaves no hole. Every operation takes constant time.
    """

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        # Linked, not a deque: a cancelled waiter leaves from the middle.
        self._turns: OrderedDict[asyncio.Future[None], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def head_deadline_s(self) -> float:
        """Return until when the head waits, on the event loop's clock; infinite if nobody does."""
        self._drop_cancelled()
        return next(iter(self._turns.values()), math.inf)

    async def wait(
        self, on_cancelled: Callable[[bool], None], deadline_s: float = math.inf
    ) -> None:
        """Return when served, raise when refused.

        Args:
            deadline_s: What `head_deadline_s` says once this waiter is the head.
            on_cancelled: Called if the waiter is cancelled, with whether it had been served by
                then, only too late to know: what it was served must be given back.
        """
        turn = asyncio.get_running_loop().create_future()
        self._turns[turn] = deadline_s
        try:
            await turn
        except asyncio.CancelledError:
            waited = self._turns.pop(turn, None) is not None
            if waited or turn.cancelled():
                on_cancelled(False)
            elif turn.exception() is None:
                on_cancelled(True)
            raise

    def serve(self) -> bool:
        """Let the head go on; return whether there was one."""
        turn = self._pop() if self._turns else None
        if turn is not None:
            turn.set_result(None)
        return turn is not None

    def refuse(self, error: Exception) -> bool:
        """Raise `error` at the head; return whether there was one."""
        turn = self._pop()
        if turn is not None:
            turn.set_exception(error)
        return turn is not None

    def refuse_all(self, error: Callable[[], Exception]) -> int:
        """Raise an error of its own at each that waits; return how many there were."""
        refused = 0
        while self._turns and self.refuse(error()):
            refused += 1
        return refused

    def _pop(self) -> asyncio.Future[None] | None:
        self._drop_cancelled()
        return self._turns.popitem(last=False)[0] if self._turns else None

    def _drop_cancelled(self) -> None:
        """Forget those at the head who were cancelled and have not run since."""
        while self._turns and next(iter(self._turns)).done():
            self._turns.popitem(last=False)
