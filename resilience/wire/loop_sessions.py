"""Connections of the event loop that asks for them, which close when it ends."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import aiohttp


class LoopSessions:
    """A session of aiohttp for each event loop: none works on another, nor after its own.

    Each is held by an asynchronous generator. `asyncio.run` closes those that were begun in it
    before it closes the loop, and whoever closes one by hand awaits `loop.shutdown_asyncgens()`
    first. So connections end with their loop, in it, though the client lives on.

    Args:
        open_session: Makes a session for the running loop.
    """

    def __init__(self, open_session: Callable[[], aiohttp.ClientSession]) -> None:
        self._open_session = open_session
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._held: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}

    async def of_running_loop(self) -> aiohttp.ClientSession:
        """Return the session of the running loop; make it if need be."""
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            for other in [each for each in self._held if each.is_closed()]:  # without a word
                await self._held[other].aclose()
            self._held[loop] = self._hold(loop)
            await anext(self._held[loop])
        return self._sessions[loop]

    async def aclose(self) -> None:
        """Close the session of the running loop; those of others end with their loops."""
        held = self._held.get(asyncio.get_running_loop())
        if held is not None:
            await held.aclose()

    async def _hold(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        async with self._open_session() as self._sessions[loop]:
            try:
                yield
            finally:
                del self._sessions[loop], self._held[loop]
