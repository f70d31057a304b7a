"""httpx as a tool: `python -m benchmarks.load.httpx_tasks URL CONNECTIONS SECONDS`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from benchmarks.load import closed_loop


@asynccontextmanager
async def client(url: str, connections: int) -> AsyncIterator[closed_loop.Send]:
    """Enter what gets *url*, reads its JSON and looks at the field, as our engine does."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as session:

        async def send() -> None:
            assert (await session.get(url)).json()["source"] == "fresh"

        yield send


if __name__ == "__main__":
    closed_loop.run(client)
