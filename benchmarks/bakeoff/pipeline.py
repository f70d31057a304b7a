"""This project's own policies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from benchmarks.bakeoff.budget import Budget, Call, Wire
from resilience import BreakerSettings, Policies, ResilientClient, RetrySettings, Source


@asynccontextmanager
async def caller(budget: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call through a `ResilientClient`."""
    source = Source(name="rates", base_url=base_url, policies=_policies(budget))
    slots = wire.max_connections
    async with ResilientClient([source], random=Random(), max_connections=slots) as client:
        client.wrap_transports(wire.around)

        async def call(path: str) -> int:
            return (await client.get("rates", path)).status_code

        yield call


def _policies(budget: Budget) -> Policies:
    return Policies(
        total_timeout_s=budget.total_s,
        retry=_retry(budget) if budget.retries else None,
        breaker=BreakerSettings(
            failure_ratio=0.5,
            minimum_throughput=2 * budget.failures,
            sampling_s=5.0,
            break_s=budget.break_s,
        ),
        attempt_timeout_s=budget.attempt_s,
    )


def _retry(budget: Budget) -> RetrySettings:
    return RetrySettings(max_retries=budget.retries, base_delay_s=budget.retry_delay_s)
