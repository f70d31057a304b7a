"""aiohttp as a tool: `python -m benchmarks.load.aiohttp_tasks URL CONNECTIONS SECONDS`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from benchmarks.load import closed_loop


@asynccontextmanager
async def client(url: str, connections: int) -> AsyncIterator[closed_loop.Send]:
    """Enter what gets *url*, reads its JSON and looks at the field, as our engine does."""
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send() -> None:
            async with session.get(url) as response:
                assert (await response.json())["source"] == "fresh"

        yield send


if __name__ == "__main__":
    closed_loop.run(client)
