"""hyx's own time-outs, retries and breaker, stacked as decorators."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from hyx.circuitbreaker import consecutive_breaker
from hyx.retry import retry
from hyx.retry.backoffs import expo
from hyx.retry.jitters import full
from hyx.timeout import timeout
from hyx.timeout.exceptions import MaxDurationExceeded

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.transient import WORTH_ANOTHER_TRY


class _SickError(Exception):
    """The source answered with a status worth another try."""


_TRANSIENT = (_SickError, httpx.TransportError, MaxDurationExceeded)


@asynccontextmanager
async def caller(budget: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call by httpx through hyx's decorators; its time-outs need the running event loop."""
    breaker = consecutive_breaker(
        exceptions=_TRANSIENT,
        failure_threshold=budget.failures,
        recovery_time_secs=budget.break_s,
        recovery_threshold=1,
    )
    # One generator of delays serves all calls and is never reset, so its upper limit is soon the
    # usual delay: it is set to the second one.
    backoff = expo(
        min_delay_secs=budget.retry_delay_s,
        max_delay_secs=2 * budget.retry_delay_s,
        jitter=full,
    )
    async with httpx.AsyncClient(
        base_url=base_url,
        transport=wire.of_httpx(),
        timeout=None,  # noqa: S113 - hyx limits it
    ) as client:

        @timeout(budget.total_s)
        @retry(on=_TRANSIENT, attempts=budget.retries, backoff=backoff)
        @breaker
        @timeout(budget.attempt_s)
        async def call(path: str) -> int:
            response = await client.get(path)
            if response.status_code in WORTH_ANOTHER_TRY:
                raise _SickError(f"status {response.status_code}")
            return response.status_code

        yield call
