"""The caller of a request, watched for a hang-up beside the application that reads from it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Message, Receive


class Caller:
    """Gives the application, in order, all that the server received, and notices a hang-up.

    An upload is read ahead no further than its first chunk, so that a wait buffers next to
    nothing; the hang-up of such a caller is noticed later, by the application.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: deque[Message] = deque()
        self._reading = asyncio.Lock()  # two readers of one server may get the same message
        self.is_gone = False

    async def receive(self) -> Message:
        """Return the next message: the application's `receive`."""
        if self._read:
            return self._read.popleft()
        async with self._reading:
            return self._read.popleft() if self._read else await self._next()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[asyncio.Task[None]]:
        """Watch the caller until the block ends; the task is done once the caller is gone."""
        gone = asyncio.create_task(self._leaves())
        try:
            yield gone
        finally:
            gone.cancel()
            await asyncio.wait({gone})

    async def _leaves(self) -> None:
        async with self._reading:
            while not self.is_gone:
                message = await self._next()
                self._read.append(message)
                if message.get("more_body", False):
                    break
        if not self.is_gone:
            await asyncio.get_running_loop().create_future()

    async def _next(self) -> Message:
        message = await self._receive()
        self.is_gone = self.is_gone or message["type"] == "http.disconnect"
        return message
