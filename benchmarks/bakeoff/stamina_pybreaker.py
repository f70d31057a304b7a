"""stamina's retries around pybreaker's context manager, put together by hand.

pybreaker's decorator and `call` count the creation of a coroutine as a success, so `calling` is
the form that can guard an await. stamina's `timeout` is looked at between attempts only; the
standard library's cuts them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pybreaker
import stamina

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.transient import is_answer, is_transient


@asynccontextmanager
async def caller(budget: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call by httpx, guarded by pybreaker, retried by stamina."""
    breaker = pybreaker.CircuitBreaker(
        fail_max=budget.failures, reset_timeout=budget.break_s, exclude=[is_answer]
    )
    retries = stamina.AsyncRetryingCaller(
        attempts=budget.retries + 1,
        timeout=budget.total_s,
        wait_initial=budget.retry_delay_s,
        wait_jitter=budget.retry_delay_s,
    ).on(is_transient)
    async with httpx.AsyncClient(
        base_url=base_url, transport=wire.of_httpx(), timeout=budget.attempt_s
    ) as client:

        async def attempt(path: str) -> int:
            with breaker.calling():
                response = await client.get(path)
                response.raise_for_status()
                return response.status_code

        async def call(path: str) -> int:
            async with asyncio.timeout(budget.total_s):
                return await retries(attempt, path)

        yield call
