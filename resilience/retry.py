"""The layer that tries again.

stamina counts the attempts and waits between them; the decisions are ours. Its `set_active` and
`set_testing`, and its hooks (one of which logs every retry as a warning), are process-wide and the
application's to set: this library touches none of them. `stamina.set_active(False)` turns the
retries of this layer off as well, and `set_testing` its waits.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from random import Random

import httpx
import stamina

from resilience.backoff import delays_s
from resilience.call import Call, Layer
from resilience.errors import Cause
from resilience.events import GaveUp, GaveUpReason, RetryScheduled
from resilience.kinds import expect
from resilience.outcome import TRANSIENT_ERRORS, is_transient_status
from resilience.retry_after import retry_after_s, utc_now
from resilience.retry_budget import RetryLedger
from resilience.retry_decision import may_repeat, next_step
from resilience.retry_settings import RetrySettings
from resilience.statistics import Counts
from resilience.subscribers import Subscribers


class _TransientResponse(Exception):  # noqa: N818 - carries a response to stamina, is no error
    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response.status_code)
        self.response = response


_TRANSIENT = (*TRANSIENT_ERRORS, _TransientResponse)


async def _send(call: Call) -> httpx.Response:
    return await call.send()


class RetryLayer:
    """Repeats transient failures; what is left after the last attempt is returned or raised.

    A call whose first attempt does well never enters stamina, whose loop costs more than all
    other layers together.

    A response that another attempt replaces is closed before that is made.

    Of use alone as well: `await RetryLayer(RetrySettings(), random=Random())(Call("GET", send))`.

    Args:
        settings: The rules.
        inner: The layer inside; by default an attempt is `call.send()` and nothing else.
        random: Source of jitter.
        ledger: The budget's, shared with others; None opens one if the settings have a budget.
        subscribers: Who hears of retries and of giving up.
        counts: Where they are counted.
        wall_clock: Returns the aware time of day, for Retry-After dates.
    """

    def __init__(
        self,
        settings: RetrySettings,
        inner: Layer = _send,
        *,
        random: Random,
        ledger: RetryLedger | None = None,
        subscribers: Subscribers | None = None,
        counts: Counts | None = None,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        expect("settings", settings, RetrySettings, "make them RetrySettings(...)")
        self._settings = settings
        self._inner = inner
        self._ledger = ledger
        if ledger is None and settings.budget is not None:
            self._ledger = RetryLedger(settings.budget)
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._counts = counts if counts is not None else Counts()
        self._random = random
        self._wall_clock = wall_clock

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers until they do well or it is time to give up."""
        if self._ledger is not None:
            self._ledger.on_request()
        first: Exception
        try:
            response = await self._inner(call)
        except TRANSIENT_ERRORS as error:
            first = error
        else:
            if not is_transient_status(response.status_code):
                return response
            first = _TransientResponse(response)
        return await self._retry(call, first)

    async def _attempt(self, call: Call) -> httpx.Response:
        response = await self._inner(call)
        if is_transient_status(response.status_code):
            raise _TransientResponse(response)
        return response

    async def _retry(self, call: Call, first: Exception) -> httpx.Response:
        dropped: list[httpx.Response] = []
        try:
            return await self._repeat(call, first, dropped)
        except _TransientResponse as left:
            return left.response
        except BaseException:
            await _close(dropped)
            raise
        finally:
            if self._ledger is not None and call.granted > call.attempt:
                self._ledger.forget()

    async def _repeat(
        self, call: Call, first: Exception, dropped: list[httpx.Response]
    ) -> httpx.Response:
        delays = self._delays_s()

        def next_delay_s(error: BaseException) -> float | bool:
            delay_s = self._next_delay_s(call, error, delays)
            if isinstance(error, _TransientResponse) and delay_s is not False:
                dropped.append(error.response)
            return delay_s

        async for attempt in stamina.retry_context(
            on=next_delay_s, attempts=self._settings.max_retries + 1, timeout=None
        ):
            await _close(dropped)
            with attempt:
                if attempt.num == 1:
                    raise first
                self._begin(call, attempt.num)
                return await self._attempt(call)
        raise AssertionError("stamina ended without a result")

    def _begin(self, call: Call, number: int) -> None:
        call.attempt = number
        self._counts.retries += 1
        if self._ledger is not None:
            self._ledger.begin()

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
        cause = _cause_of(error)
        step = self._within_budget(call, self._next_step(call, error, cause, next(delays)))
        if isinstance(step, GaveUpReason):
            self._subscribers.tell_of(call, GaveUp, cause=cause, reason=step)
            return False
        self._subscribers.tell_of(call, RetryScheduled, cause=cause, delay_s=step)
        return step

    def _next_step(
        self, call: Call, error: Exception, cause: Cause, computed_delay_s: float
    ) -> float | GaveUpReason:
        settings = self._settings
        return next_step(
            settings=settings,
            repeatable=may_repeat(
                settings.repeatable,
                call.method,
                idempotency_key=call.idempotency_key,
                cause=cause,
            ),
            failed_attempts=call.attempt,
            computed_delay_s=computed_delay_s,
            asked_delay_s=self._asked_delay_s(error),
            time_left_s=call.time_left_s(),
        )

    def _within_budget(self, call: Call, step: float | GaveUpReason) -> float | GaveUpReason:
        """Return the step, or why the budget does not bear the retry that it is."""
        if isinstance(step, GaveUpReason) or self._ledger is None:
            return step
        if not self._ledger.grant():
            self._counts.retries_suppressed += 1
            return GaveUpReason.SUPPRESSED_BY_BUDGET
        call.granted = call.attempt + 1
        return step

    def _asked_delay_s(self, error: Exception) -> float | None:
        if not self._settings.honour_retry_after or not isinstance(error, _TransientResponse):
            return None
        return retry_after_s(error.response, self._wall_clock)


async def _close(dropped: list[httpx.Response]) -> None:
    while dropped:
        with suppress(httpx.TransportError):  # nobody will read it, so nobody need know
            await dropped.pop().aclose()


def _cause_of(error: Exception) -> Cause:
    return error.response.status_code if isinstance(error, _TransientResponse) else error
