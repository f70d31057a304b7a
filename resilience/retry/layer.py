"""The layer that tries again.

stamina counts the attempts. The decisions are ours, and so are the waits, which a circuit that
opens can end; to stamina and its hooks all waits are 0 s. Its `set_active` and `set_testing`, and
those hooks (one of which logs every retry as a warning), are process-wide and belong to the
application: this library does not change them. `stamina.set_active(False)` turns the retries of
this layer off too, and `set_testing` turns its waits off.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from random import Random

import httpx
import stamina

from resilience._internal.backoff import seeded_anew_in_forks
from resilience._internal.checks import expect
from resilience._internal.outcome import TRANSIENT_ERRORS, is_transient_status
from resilience._internal.timing import loop_time_s
from resilience._internal.wire.retry_after import retry_after_s, utc_now
from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.call import Call, Layer
from resilience.errors import Cause
from resilience.events import GaveUp, GaveUpReason, RetryScheduled, Subscribers
from resilience.retry.budget import RetryLedger
from resilience.retry.settings import RetrySettings, may_repeat, next_step
from resilience.statistics import Counts


class _TransientResponse(Exception):  # noqa: N818 - carries a response to stamina, is not an error
    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response.status_code)
        self.response = response


_TRANSIENT = (*TRANSIENT_ERRORS, _TransientResponse)


async def _send(call: Call) -> httpx.Response:
    return await call.send()


class RetryLayer:
    """Repeats transient failures; what is left after the last attempt is returned or raised.

    A call whose first attempt succeeds never enters stamina, whose loop costs more than all other
    layers together.

    A response that is retried is closed before the wait.

    A call never waits for a retry that an open circuit will reject (see `RetryWaits`): the
    retry begins at once, which costs the budget nothing, and the layer inside rejects it.

    Can be used alone: `await RetryLayer(RetrySettings(), random=Random())(Call("GET", send))`.

    Args:
        settings: The rules.
        inner: The layer inside; by default an attempt is `call.send()` and nothing else.
        random: Source of jitter; seeded anew in processes that are forked later.
        ledger: The budget's, shared with others; None opens one if the settings have a budget.
        waits: Where calls sleep before their retries, shared by the layers of a source and aware
            of its circuit; by default they sleep whatever a circuit does.
        subscribers: Notified of retries and of giving up.
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
        waits: "RetryWaits | None" = None,
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
        self._waits = waits if waits is not None else RetryWaits()
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._counts = counts if counts is not None else Counts()
        self._random = seeded_anew_in_forks(random)
        self._wall_clock = wall_clock

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers until they succeed or it is time to give up."""
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
        delays = self._settings.delays_s(self._random)
        due_s = 0.0

        def next_delay_s(error: BaseException) -> float | bool:
            nonlocal due_s
            delay_s = self._next_delay_s(call, error, delays)
            if delay_s is None:
                return False
            due_s = loop_time_s() + delay_s
            if isinstance(error, _TransientResponse):
                dropped.append(error.response)
            return 0.0

        async for attempt in stamina.retry_context(
            on=next_delay_s, attempts=self._settings.max_retries + 1, timeout=None
        ):
            await _close(dropped)
            with attempt:
                if attempt.num == 1:
                    raise first
                if not stamina.is_testing():
                    await self._waits.sleep_until(due_s)
                self._begin(call, attempt.num)
                return await self._attempt(call)
        raise AssertionError("stamina ended without a result")

    def _begin(self, call: Call, number: int) -> None:
        call.attempt = number
        self._counts.retries += 1
        if self._ledger is None:
            return
        granted = call.granted == number
        if not self._waits.is_rejected(loop_time_s()):
            self._ledger.begin(granted=granted)
        elif granted:
            self._ledger.forget()

    def _next_delay_s(
        self, call: Call, error: BaseException, delays: Iterator[float]
    ) -> float | None:
        """Return how long to wait for the next attempt, None to end the call.

        stamina calls this after every attempt, cancelled ones included.
        """
        if not isinstance(error, _TRANSIENT):
            return None
        cause = _cause_of(error)
        step = self._next_step(call, error, cause, next(delays))
        rejected = False
        if not isinstance(step, GaveUpReason):
            rejected = self._waits.is_rejected(loop_time_s() + step)
            if not rejected and not self._within_budget(call):
                step = GaveUpReason.SUPPRESSED_BY_BUDGET
        if isinstance(step, GaveUpReason):
            self._subscribers.notify_of(call, GaveUp, cause=cause, reason=step)
            return None
        delay_s = 0.0 if rejected else step
        self._subscribers.notify_of(call, RetryScheduled, cause=cause, delay_s=delay_s)
        return step

    def _next_step(
        self, call: Call, error: Exception, cause: Cause, computed_delay_s: float
    ) -> float | GaveUpReason:
        settings, has_key = self._settings, call.idempotency_key
        return next_step(
            settings=settings,
            repeatable=may_repeat(settings, call.method, idempotency_key=has_key, cause=cause),
            failed_attempts=call.attempt,
            computed_delay_s=computed_delay_s,
            asked_delay_s=self._asked_delay_s(error),
            time_left_s=call.time_left_s(),
        )

    def _within_budget(self, call: Call) -> bool:
        """Tell whether the budget allows another attempt, which it then grants."""
        if self._ledger is None:
            return True
        if not self._ledger.grant():
            self._counts.retries_suppressed += 1
            return False
        call.granted = call.attempt + 1
        return True

    def _asked_delay_s(self, error: Exception) -> float | None:
        if not self._settings.honour_retry_after or not isinstance(error, _TransientResponse):
            return None
        return retry_after_s(error.response, self._wall_clock)


async def _close(dropped: list[httpx.Response]) -> None:
    while dropped:
        with suppress(httpx.TransportError):  # no one will read it
            await dropped.pop().aclose()


def _cause_of(error: Exception) -> Cause:
    return error.response.status_code if isinstance(error, _TransientResponse) else error


class RetryWaits:
    """The calls to one source that sleep before their retries.

    No call sleeps while the circuit will still be open at the end of its wait: the retry begins at
    once and is rejected, whether the circuit was open when the wait began or opens during it. A
    call whose wait ends after the break sleeps on, and so does one that finds the circuit reset.

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
        """Tell whether the circuit, in its present state, will reject an attempt at `at_s`."""
        return self._breaker is not None and self._breaker.open_until_s > at_s

    async def sleep_until(self, due_s: float) -> None:
        """Return at `due_s` on the event loop's clock, or once the retry would be rejected."""
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
