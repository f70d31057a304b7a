"""The layer that an attempt passes before it is sent, and that records how it ended."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import httpx

from resilience._internal.guards import Guards
from resilience._internal.outcome import TOO_MANY_REQUESTS, is_transient_status, verdict_on
from resilience._internal.timing import ROUNDING_S, loop_time_s
from resilience._internal.wire.retry_after import retry_after_s
from resilience.breaker.circuit_breaker import Permit
from resilience.call import Call, Layer
from resilience.concurrency.adaptive import Measurement
from resilience.concurrency.bulkhead import Bulkhead
from resilience.errors import AttemptTimeout, BulkheadFull, CircuitOpen, RateLimited
from resilience.events import (
    CallRejected,
    QueueRejected,
    RateLimitDelayed,
    ServerRateLimited,
    Subscribers,
)
from resilience.rate_limit import TokenBucket
from resilience.statistics import Counts

_NEARLY_ALL = 0.99  # of its time: it began a moment after its call


class AdmissionLayer:
    """Holds an attempt back until the source may be called; any of the three guards may be None.

    1. circuit: an open one rejects the attempt before it takes a place in any queue
    2. queue: refused if it is full or the wait would be too long
    3. slot of the bulkhead: before the token, so that tokens which are saved up while all slots
       are taken are not spent in one burst when the slots come free
    4. token of the bucket, first come first served
    5. circuit: a permit for the attempt; a circuit that opens rejects at once all that wait in 3, 4
    6. the inner layers; then the outcome goes to the circuit and to what adapts the number of
       slots; a 429 pauses the whole source. An attempt that the total timeout ended counts
       as timed out there if it had as long as an attempt on this source may take

    One layer for all, because what an attempt holds after one step it must give back when it
    fails at a later one. The clock is read once before the inner layers and once after them.
    """

    def __init__(
        self,
        inner: Layer,
        guards: Guards,
        *,
        subscribers: Subscribers,
        counts: Counts,
        wall_clock: Callable[[], datetime],
    ) -> None:
        self._inner = inner
        self._breaker, self._bulkhead = guards.breaker, guards.bulkhead
        self._adaptive, self._bucket = guards.adaptive, guards.bucket
        own = guards.policies  # a shorter timeout of one call says nothing about the source
        self._counts_429 = own.breaker is not None and own.breaker.counts_429
        self._attempt_limit_s = own.attempt_timeout_s or own.total_timeout_s
        self._subscribers = subscribers
        self._counts = counts
        self._wall_clock = wall_clock

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers, or raise why nothing is sent.

        Raises:
            CircuitOpen, RateLimited, BulkheadFull: Nothing was sent.
        """
        breaker = self._breaker
        permit: Permit | None
        now_s = loop_time_s()
        if (breaker is None or breaker.closed) and self._take_at_once(now_s):
            permit = None if breaker is None else breaker.admit()
        else:
            call.hold()
            permit = await self._admit(call)
            now_s = loop_time_s()
            call.let_go(now_s)
        measurement = None if self._adaptive is None else self._adaptive.begin(now_s)
        try:
            response = await self._inner(call)
            self._settle(call, permit, measurement, response)
        except BaseException as error:
            self._settle_error(call, permit, measurement, error, began_s=now_s)
            raise
        if self._bulkhead is not None:
            if call.keep is None or response.is_closed:
                self._bulkhead.release()
            else:
                call.keep(response, self._bulkhead.release)
        return response

    async def _admit(self, call: Call) -> Permit | None:
        """Pass every step in order; most attempts find everything open and skip this."""
        try:
            if self._breaker is not None:
                self._breaker.check()
            if not self._take_at_once(loop_time_s()):
                await self._take_in_turn(call)
            return self._permit()
        except BaseException as error:
            self._refused(call, error)
            raise

    def _take_at_once(self, now_s: float) -> bool:
        """Take a slot and a token if both are free and no one waits; else take neither."""
        if self._bulkhead is not None and not self._bulkhead.try_acquire():
            return False
        if self._bucket is None or self._bucket.try_take_at_once(now_s):
            return True
        if self._bulkhead is not None:
            self._bulkhead.release()
        return False

    async def _take_in_turn(self, call: Call) -> None:
        """Enter the queue for a token, take a slot, then the token; or leave with nothing."""
        if self._bucket is not None:
            self._bucket.enter(call.deadline_s)
        if self._bulkhead is not None:
            await self._take_slot(self._bulkhead)
        if self._bucket is None:
            return
        try:
            if not self._bucket.try_take():
                await self._wait_for_token(call, self._bucket)
        except BaseException:
            if self._bulkhead is not None:
                self._bulkhead.release()
            raise

    async def _take_slot(self, bulkhead: Bulkhead) -> None:
        try:
            await bulkhead.acquire()
        except BaseException:
            if self._bucket is not None:
                self._bucket.leave()
            raise

    async def _wait_for_token(self, call: Call, bucket: TokenBucket) -> None:
        waited_s = await bucket.take()
        self._counts.rate_limit_waits += 1
        self._counts.rate_limit_wait_s += waited_s
        self._subscribers.notify_of(call, RateLimitDelayed, waited_s=waited_s)

    def _permit(self) -> Permit | None:
        if self._breaker is None:
            return None
        try:
            return self._breaker.admit()
        except CircuitOpen:
            if self._bucket is not None:
                self._bucket.give_back()
            if self._bulkhead is not None:
                self._bulkhead.release()
            raise

    def _refused(self, call: Call, error: BaseException) -> None:
        if isinstance(error, CircuitOpen):
            self._counts.circuit_rejects += 1
            self._subscribers.notify_of(call, CallRejected, retry_after_s=error.retry_after_s)
        elif isinstance(error, (RateLimited, BulkheadFull)):
            self._counts.queue_rejects += 1
            self._subscribers.notify_of(call, QueueRejected, cause=error)
        else:
            self._counts.abandoned += 1

    def _settle(
        self,
        call: Call,
        permit: Permit | None,
        measurement: Measurement | None,
        response: httpx.Response,
    ) -> None:
        status, now_s = response.status_code, loop_time_s()
        if measurement is not None:
            measurement.answered(status, now_s)
        limited = status == TOO_MANY_REQUESTS
        if limited and self._bucket is not None:
            asked_s = retry_after_s(response, self._wall_clock)
            pause_s = self._bucket.pause(asked_s or 0.0)
            self._subscribers.notify_of(call, ServerRateLimited, pause_s=pause_s)
        if permit is None:
            return
        if not is_transient_status(status):
            permit.success(now_s)
        elif limited and not self._counts_429:
            permit.release()
        else:
            permit.failure(status)

    def _settle_error(
        self,
        call: Call,
        permit: Permit | None,
        measurement: Measurement | None,
        error: BaseException,
        *,
        began_s: float,
    ) -> None:
        if isinstance(error, asyncio.CancelledError) and self._has_had_its_time(call, began_s):
            error = AttemptTimeout(loop_time_s() - began_s)
        if measurement is not None:
            measurement.failed(error)
        if permit is not None:
            permit.settle(verdict_on(error), error)
        if self._bulkhead is not None:
            self._bulkhead.release()

    def _has_had_its_time(self, call: Call, began_s: float) -> bool:
        """Tell whether the total timeout has fired after the attempt had its full time."""
        if call.deadline_s is None or self._attempt_limit_s is None:
            return False
        now_s = loop_time_s()
        timed_out = now_s >= call.deadline_s - ROUNDING_S
        return timed_out and now_s - began_s >= _NEARLY_ALL * self._attempt_limit_s
