"""A source whose calls wait half a minute for their retries, while its circuit opens or not."""

import asyncio

import httpx

from resilience import BreakerSettings, CircuitBreaker, Policies, RetrySettings
from tests.resilience.script import Script, Told

ONE_FAILURE = BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=60)
TWO_IN_A_ROW = BreakerSettings(failure_ratio=None, consecutive_failures=2, break_s=60)
AFTER_30_S = RetrySettings(max_retries=2, base_delay_s=30, jitter=False)


def told_with(breaker: BreakerSettings, retry: RetrySettings = AFTER_30_S) -> Told:
    """Return a pipeline with these policies."""
    return Told(Policies(retry=retry, breaker=breaker))


def breaker_of(told: Told) -> CircuitBreaker:
    """Return the breaker that the pipeline has."""
    assert told.pipeline.breaker is not None
    return told.pipeline.breaker


async def asleep(told: Told, script: Script) -> asyncio.Task[httpx.Response]:
    """Begin a call, and return it a second later, while it waits for its retry."""
    call = asyncio.create_task(told.run(script))
    await asyncio.sleep(1)
    assert not call.done()
    return call
