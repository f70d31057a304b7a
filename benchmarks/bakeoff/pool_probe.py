"""How many of its connections a client can still use after its calls were cancelled."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from random import Random

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.variants import Variant

SLOTS = 6
CALLS = 25
_WORKERS = 2 * SLOTS
_BUDGET = Budget(retries=0, attempt_s=2.0, total_s=2.0, failures=1_000_000)  # nothing may open
_QUICK_S = 0.005
_PATIENCE_S = 1.0  # for connections that a healthy client opens in a few milliseconds
_POLL_S = 0.01


class _Server:
    """Answers every request well, after a moment, once `answers` is set; knows those in hand."""

    def __init__(self) -> None:
        self.in_hand = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self.answers = asyncio.Event()
        self.answers.set()
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client closes it or `stop` is called."""
        connection = asyncio.current_task()
        assert connection is not None
        self._connections[connection] = writer
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await reader.readuntil(b"\r\n\r\n"):
                    await self._work()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                    await writer.drain()
        finally:
            writer.close()
            del self._connections[connection]

    async def _work(self) -> None:
        self.in_hand += 1
        self.idle.clear()
        try:
            await asyncio.sleep(_QUICK_S)
            await self.answers.wait()
        finally:
            self.in_hand -= 1
            if not self.in_hand:
                self.idle.set()

    async def stop(self) -> None:
        """End the connections, those that a client has left open included."""
        left = dict(self._connections)
        for writer in left.values():
            writer.transport.abort()
        if left:
            await asyncio.wait(left)
        await asyncio.sleep(0)  # a closed transport lets its socket go in the next step


async def slots_left(variant: Variant, *, cancelled: int = CALLS) -> str:
    """Tell how many connections can be in use at once after calls were cancelled.

    Args:
        variant: Whose pool of SLOTS connections is tried.
        cancelled: Calls to a healthy server that each of twice as many workers cancels at random
            moments.
    """
    random = Random(1)
    async with (
        _serving() as (server, base_url),
        variant.caller(_BUDGET, base_url, Wire(max_connections=SLOTS)) as call,
    ):
        await asyncio.gather(*(_cancel_calls(call, random, cancelled) for _ in range(_WORKERS)))
        await server.idle.wait()
        return f"{await _most_at_once(server, call)} of {SLOTS}"


async def _most_at_once(server: _Server, call: Call) -> int:
    server.answers.clear()
    calls = [asyncio.create_task(_bounded(call, _PATIENCE_S)) for _ in range(SLOTS)]
    most = 0
    while most < SLOTS and not all(each.done() for each in calls):
        await asyncio.sleep(_POLL_S)
        most = max(most, server.in_hand)
    server.answers.set()
    await asyncio.gather(*calls)
    return most


async def _cancel_calls(call: Call, random: Random, calls: int) -> None:
    for _ in range(calls):
        await _bounded(call, random.uniform(0.001, 0.02))


async def _bounded(call: Call, limit_s: float) -> None:
    """Make a call and cancel it after `limit_s`; a pool that lost slots may end it in any error."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(limit_s):
            await call("/")


@contextlib.asynccontextmanager
async def _serving() -> AsyncIterator[tuple[_Server, str]]:
    server = _Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        host, port = listening.sockets[0].getsockname()
        try:
            yield server, f"http://{host}:{port}"
        finally:
            await server.stop()
