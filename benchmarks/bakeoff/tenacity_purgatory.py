"""tenacity's retries around a circuit of purgatory's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from purgatory import AsyncCircuitBreakerFactory
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.transient import is_answer, is_transient


@asynccontextmanager
async def caller(budget: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call by httpx, guarded by purgatory, retried by tenacity."""
    circuits = AsyncCircuitBreakerFactory(
        default_threshold=budget.failures,
        default_ttl=budget.break_s,
        exclude=[(httpx.HTTPStatusError, is_answer)],
    )
    async with httpx.AsyncClient(
        base_url=base_url, transport=wire.of_httpx(), timeout=budget.attempt_s
    ) as client:

        @retry(
            stop=stop_after_attempt(budget.retries + 1),
            wait=wait_exponential_jitter(
                multiplier=budget.retry_delay_s, jitter=budget.retry_delay_s
            ),
            retry=retry_if_exception(is_transient),
            reraise=True,
        )
        async def attempt(path: str) -> int:
            async with await circuits.get_breaker("rates"):
                response = await client.get(path)
                response.raise_for_status()
                return response.status_code

        async def call(path: str) -> int:
            async with asyncio.timeout(budget.total_s):
                return await attempt(path)

        yield call
