"""Retries inside httpx's transport; there is no breaker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from httpx_retries import Retry, RetryTransport

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.transient import WORTH_ANOTHER_TRY


@asynccontextmanager
async def caller(budget: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call by httpx on a retrying transport."""
    retry = Retry(
        total=budget.retries,
        status_forcelist=WORTH_ANOTHER_TRY,
        backoff_factor=budget.retry_delay_s / 2,  # doubled before its first use
    )
    async with httpx.AsyncClient(
        base_url=base_url,
        transport=RetryTransport(transport=wire.of_httpx(), retry=retry),
        timeout=budget.attempt_s,
    ) as client:

        async def call(path: str) -> int:
            async with asyncio.timeout(budget.total_s):
                return (await client.get(path)).status_code

        yield call
