"""The wait before a retry, which is not slept through for a certain rejection."""

import asyncio

from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.timing.clock import loop_time_s


class RetryWaits:
    """The calls to one source that sleep before their retries.

    Nobody sleeps while the circuit will still be open at the end of the wait: the retry begins at
    once and is rejected, whether the circuit was open when the wait began or opens in its middle.
    Whoever wakes after the break sleeps on, and so does whoever finds the circuit reset.

    Args:
        breaker: The source's, on the event loop's clock; without one every wait runs to its end.
    """

    def __init__(self, breaker: CircuitBreaker | None = None) -> None:
        self._breaker = breaker
        self._asleep: dict[asyncio.Future[bool], float] = {}
        if breaker is not None:
            breaker.when_opened(self._wake_the_rejected)

    @property
    def asleep(self) -> int:
        """Return how many calls sleep."""
        return len(self._asleep)

    def is_rejected(self, at_s: float) -> bool:
        """Tell whether the circuit, as it stands, is bound to reject an attempt at `at_s`."""
        return self._breaker is not None and self._breaker.open_until_s > at_s

    async def sleep_until(self, due_s: float) -> None:
        """Return at `due_s` on the event loop's clock, or as soon as the retry is rejected then."""
        is_due = loop_time_s() >= due_s
        while not is_due and not self.is_rejected(due_s):
            is_due = await self._sleep(due_s)

    async def _sleep(self, due_s: float) -> bool:
        """Return True at `due_s`, False when the circuit opens beyond it."""
        loop = asyncio.get_running_loop()
        awake: asyncio.Future[bool] = loop.create_future()
        self._asleep[awake] = due_s
        timer = loop.call_at(due_s, _wake, awake, True)
        try:
            return await awake
        finally:
            timer.cancel()
            del self._asleep[awake]

    def _wake_the_rejected(self, _rejection: object) -> None:
        for awake, due_s in self._asleep.items():
            if self.is_rejected(due_s):
                _wake(awake, False)


def _wake(awake: asyncio.Future[bool], is_due: bool) -> None:
    if not awake.done():
        awake.set_result(is_due)
