"""Wait before a reply, but notice a caller that hangs up."""

import asyncio
from collections import deque

from starlette.types import Message, Receive


async def delay(seconds: float, receive: Receive) -> Receive | None:
    """Wait *seconds* (on the loop's clock) while *receive* is watched for a hang-up.

    Returns a `receive` that gives the application all that was read meanwhile, or None as soon
    as the caller is gone. An upload is read no further than its first chunk, so that a delay
    buffers next to nothing; the hang-up of such a caller is noticed later, by the application.
    """
    read: deque[Message] = deque()
    try:
        async with asyncio.timeout(seconds) as limit:
            while (message := await receive())["type"] != "http.disconnect":
                read.append(message)
                if message.get("more_body", False):
                    await asyncio.get_running_loop().create_future()
            return None
    except TimeoutError:
        if not limit.expired():
            raise
    return _replay(read, receive)


def _replay(read: deque[Message], receive: Receive) -> Receive:
    async def replayed() -> Message:
        return read.popleft() if read else await receive()

    return replayed
