"""A client moves from one event loop to the next; its connections end with their loop."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from threading import Lock

import aiohttp

_TWO_LOOPS = (
    "the client is in use on another event loop, which runs in another thread; make a client for "
    "each loop, or send the call to the loop of this one: "
    "asyncio.run_coroutine_threadsafe(client.get(...), loop)"
)
_FORKED = (
    "the client was in use when this process was forked: its calls and connections are the "
    "parent's; make a client in the child"
)


class OneLoop:
    """Lets an object that is not thread-safe be used on one event loop after another, never on two.

    Args:
        on_clock_set_back: Called with the seconds by which the next loop's clock is behind the last
            one's, as with a loop of virtual time. All others share the system's clock.
    """

    def __init__(self, on_clock_set_back: Callable[[float], None]) -> None:
        self._on_clock_set_back = on_clock_set_back
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._changing = Lock()

    def enter(self) -> None:
        """Note that the running loop is the one in use from now on.

        Raises:
            RuntimeError: Another one still runs.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._change_to(loop)

    def _change_to(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._changing:
            if self._loop is not None:
                self._expect_over(self._loop)
                behind_s = self._loop.time() - loop.time()
                if behind_s > 0:
                    self._on_clock_set_back(behind_s)
            self._loop, self._pid = loop, os.getpid()

    def _expect_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop.is_running():  # in a forked process: as the copy was
            raise RuntimeError(_TWO_LOOPS if self._pid == os.getpid() else _FORKED)


class LoopSessions:
    """A session of aiohttp for each event loop: a session works on its own loop only.

    Each is held by an asynchronous generator. `asyncio.run` closes those that were begun in it
    before it closes the loop; code that closes a loop by hand awaits `loop.shutdown_asyncgens()`
    first. So connections end with their loop, in it, though the client lives on.

    Args:
        open_session: Makes a session for the running loop.
    """

    def __init__(self, open_session: Callable[[], aiohttp.ClientSession]) -> None:
        self._open_session = open_session
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._held: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}

    async def of_running_loop(self) -> aiohttp.ClientSession:
        """Return the session of the running loop; open it on first use."""
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            for other in [each for each in self._held if each.is_closed()]:  # not shut down
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
