"""A name of Redis that leads to one server, and then to another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.valkey import Valkey


class Name:
    """A name, as DNS has it: whoever connects reaches `leads_to`, whoever is connected stays."""

    def __init__(self, leads_to: Valkey) -> None:
        self.leads_to = leads_to
        self._connected: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Yield the URL of Redis at this name; whoever is connected must hang up first."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        async with server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        await asyncio.gather(*self._connected)

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connected.add(asyncio.create_task(self._lead(reader, writer)))

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, to_there = await asyncio.open_connection("127.0.0.1", self.leads_to.port)
            await asyncio.gather(_pass_on(reader, to_there), _pass_on(there, writer))
        await _close(writer)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
