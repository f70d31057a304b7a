import asyncio

import pytest

from resilience import (
    BreakerSettings,
    Policies,
    RateLimit,
    RetrySettings,
    SourceStatistics,
)
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock


async def test_a_source_that_was_never_called_has_nothing_counted() -> None:
    counted = Told(Policies()).pipeline.statistics()
    assert (counted.requests, counted.attempts, counted.circuit) == (0, 0, None)
    assert counted.finished_at_s is None


async def test_a_story_is_counted_column_by_column() -> None:
    told = Told(
        Policies(
            retry=RetrySettings(max_retries=1, base_delay_s=0.1, jitter=False),
            rate_limit=RateLimit.per_second(2, burst=1, max_queue=1),
            breaker=BreakerSettings(failure_ratio=None, consecutive_failures=2, break_s=60),
        )
    )
    await told.run(Script(response(429, {"retry-after": "1"}), 404))  # ok, one retry, no wait
    both = (told.run(Script(200)), told.run(Script(200)), told.run(Script(200)))
    await asyncio.gather(*both, return_exceptions=True)  # the bucket is empty: one waits
    cut = asyncio.create_task(told.run(Script(200)))
    await asyncio.sleep(0.1)
    cut.cancel()  # abandoned in the queue
    await asyncio.wait([cut])
    await told.run(Script(500))  # its second attempt opens the circuit
    await asyncio.gather(told.run(Script(200)), return_exceptions=True)
    assert told.pipeline.statistics() == SourceStatistics(
        source="rates",
        requests=7,
        ok=2,
        failed=5,
        cancelled=1,
        in_flight=0,
        attempts=5,
        retries=2,
        hedges=0,
        waiting=0,
        rejects=4,
        circuit_rejects=1,
        queue_rejects=2,
        abandoned=1,
        rate_limit_waits=3,
        rate_limit_wait_s=pytest.approx(0.5 + 0.4 + 0.4),  # type: ignore[arg-type]
        http_429=1,
        retries_suppressed=0,
        circuit_opened=1,
        circuit="open",
        finished_at_s=pytest.approx(2.5),  # type: ignore[arg-type]
    )


async def test_a_snapshot_does_not_change() -> None:
    told = Told(Policies())
    before = told.pipeline.statistics()
    await told.run(Script(200))
    assert (before.requests, told.pipeline.statistics().requests) == (0, 1)
