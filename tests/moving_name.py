"""A name of Redis that leads to one server, and then to another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.valkey import Valkey


class Name:
    """A name, as DNS has it: whoever connects reaches `leads_to`, whoever is connected stays."""

    def __init__(self, leads_to: Valkey) -> None:
        self.leads_to = leads_to

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Yield the URL of Redis at this name."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        async with server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", self.leads_to.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()
