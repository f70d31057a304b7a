"""The layer that tries again.

stamina counts the attempts and waits between them; the decisions are ours. Its `set_active` and
`set_testing`, and its hooks (one of which logs every retry as a warning), are process-wide and the
application's to set: this library touches none of them. `stamina.set_active(False)` turns the
retries of this layer off as well, and `set_testing` its waits.
"""

import asyncio
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from random import Random

import httpx
import stamina

from resilience.backoff import delays_s
from resilience.call import Call, Layer
from resilience.errors import Cause
from resilience.events import GaveUp, GaveUpReason, RetryScheduled
from resilience.outcome import TRANSIENT_ERRORS, is_transient_status
from resilience.retry_after import retry_after_s
from resilience.retry_settings import RetrySettings
from resilience.subscribers import Subscribers

_UNSAFE_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE", "CONNECT"})


class _TransientResponse(Exception):  # noqa: N818 - carries a response to stamina, is no error
    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response.status_code)
        self.response = response


_TRANSIENT = (*TRANSIENT_ERRORS, _TransientResponse)


def next_step(
    *,
    settings: RetrySettings,
    method: str,
    failed_attempts: int,
    computed_delay_s: float,
    asked_delay_s: float | None,
    time_left_s: float,
) -> float | GaveUpReason:
    """Decide what follows a transient failure: seconds to wait, or why to give up.

    Args:
        settings: The policy's.
        method: HTTP method, upper case.
        failed_attempts: Attempts so far, >= 1.
        computed_delay_s: What the back-off says.
        asked_delay_s: What the server's Retry-After says; it replaces the computed delay.
        time_left_s: Until the total time-out; infinite without one. A wait that would reach it
            is not begun: the caller gets the failure in hand now rather than a time-out later.
    """
    if failed_attempts > settings.max_retries:
        return GaveUpReason.RETRIES_EXHAUSTED
    if not settings.unsafe_methods and method in _UNSAFE_METHODS:
        return GaveUpReason.UNSAFE_METHOD
    if asked_delay_s is None:
        return computed_delay_s if computed_delay_s < time_left_s else GaveUpReason.NO_TIME_LEFT
    if asked_delay_s > settings.max_retry_after_s or asked_delay_s >= time_left_s:
        return GaveUpReason.RETRY_AFTER_TOO_LONG
    return asked_delay_s


class RetryLayer:
    """Repeats transient failures; what is left after the last attempt is returned or raised.

    A call whose first attempt does well never enters stamina, whose loop costs more than all
    other layers together.
    """

    def __init__(
        self,
        settings: RetrySettings,
        inner: Layer,
        *,
        source: str,
        subscribers: Subscribers,
        random: Random,
        wall_clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._inner = inner
        self._source = source
        self._subscribers = subscribers
        self._random = random
        self._wall_clock = wall_clock

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers until they do well or it is time to give up."""
        try:
            return await self._attempt(call)
        except _TRANSIENT as error:
            first = error
        try:
            return await self._retry(call, first)
        except _TransientResponse as left:
            return left.response

    async def _attempt(self, call: Call) -> httpx.Response:
        response = await self._inner(call)
        if is_transient_status(response.status_code):
            raise _TransientResponse(response)
        return response

    async def _retry(self, call: Call, first: Exception) -> httpx.Response:
        delays = self._delays_s()

        def next_delay_s(error: BaseException) -> float | bool:
            return self._next_delay_s(call, error, delays)

        async for attempt in stamina.retry_context(
            on=next_delay_s, attempts=self._settings.max_retries + 1, timeout=None
        ):
            with attempt:
                if attempt.num == 1:
                    raise first
                call.attempt = attempt.num
                return await self._attempt(call)
        raise AssertionError("stamina ended without a result")

    def _delays_s(self) -> Iterator[float]:
        settings = self._settings
        return delays_s(
            settings.backoff,
            settings.base_delay_s,
            jitter=settings.jitter,
            max_s=settings.max_delay_s,
            random=self._random,
        )

    def _next_delay_s(
        self, call: Call, error: BaseException, delays: Iterator[float]
    ) -> float | bool:
        """Answer stamina, which asks after every attempt, be it cancelled: False ends the call."""
        if not isinstance(error, _TRANSIENT):
            return False
        step = next_step(
            settings=self._settings,
            method=call.method,
            failed_attempts=call.attempt,
            computed_delay_s=next(delays),
            asked_delay_s=self._asked_delay_s(error),
            time_left_s=_time_left_s(call),
        )
        told = {"source": self._source, "attempt": call.attempt, "cause": _cause_of(error)}
        if isinstance(step, GaveUpReason):
            self._subscribers.tell(GaveUp, reason=step, **told)
            return False
        self._subscribers.tell(RetryScheduled, delay_s=step, **told)
        return step

    def _asked_delay_s(self, error: Exception) -> float | None:
        if not self._settings.honour_retry_after or not isinstance(error, _TransientResponse):
            return None
        return retry_after_s(error.response, self._wall_clock)


def _cause_of(error: Exception) -> Cause:
    return error.response.status_code if isinstance(error, _TransientResponse) else error


def _time_left_s(call: Call) -> float:
    if call.deadline_s is None:
        return math.inf
    return call.deadline_s - asyncio.get_running_loop().time()
