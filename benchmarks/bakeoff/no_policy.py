"""One attempt, and as much patience as people usually set."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from benchmarks.bakeoff.budget import Budget, Call, Wire

TIMEOUT_S = 10.0


@asynccontextmanager
async def caller(_: Budget, base_url: str, wire: Wire) -> AsyncIterator[Call]:
    """Call by httpx alone."""
    async with httpx.AsyncClient(
        base_url=base_url, transport=wire.of_httpx(), timeout=TIMEOUT_S
    ) as client:

        async def call(path: str) -> int:
            return (await client.get(path)).status_code

        yield call
