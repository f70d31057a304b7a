"""The retry layer without a pipeline around it, on responses whose bodies are still open."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import httpx
import pytest

from resilience import Call, RetryLayer, RetrySettings

pytestmark = pytest.mark.virtual_clock


class Body(httpx.AsyncByteStream):
    """A body that knows whether it has been closed, which may go wrong."""

    def __init__(self, *, breaks: bool) -> None:
        self.closed = False
        self._breaks = breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"part"

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True
        if self._breaks:
            raise httpx.ReadError("reset")


class Streams:
    """Opens a response with each status in turn; before each, every earlier one must be closed."""

    def __init__(self, *statuses: int, breaks: bool = False) -> None:
        self.bodies = [Body(breaks=breaks) for _ in statuses]
        self._statuses = iter(statuses)
        self._bodies = iter(self.bodies)
        self._opened = 0

    async def __call__(self) -> httpx.Response:
        """Open the next response."""
        assert all(body.closed for body in self.bodies[: self._opened])
        self._opened += 1
        return httpx.Response(next(self._statuses), stream=next(self._bodies))


async def repeated(streams: Streams, max_retries: int = 2) -> httpx.Response:
    retry = RetryLayer(RetrySettings(max_retries=max_retries, jitter=False), random=Random(1))
    return await retry(Call("GET", streams))


@pytest.mark.parametrize("breaks", [False, True])
async def test_a_response_is_closed_before_the_attempt_that_replaces_it(*, breaks: bool) -> None:
    streams = Streams(503, 500, 200, breaks=breaks)
    assert (await repeated(streams)).status_code == 200
    assert [body.closed for body in streams.bodies] == [True, True, False]


async def test_the_response_that_is_left_in_the_end_is_open_for_its_reader() -> None:
    streams = Streams(503, 500)
    left = await repeated(streams, max_retries=1)
    assert (left.status_code, left.is_closed) == (500, False)
    assert await left.aread() == b"part"


async def test_a_call_cancelled_while_it_waits_for_its_retry_leaves_no_response_open() -> None:
    streams = Streams(503, 200)
    call = asyncio.create_task(repeated(streams))
    await asyncio.sleep(1)
    assert streams.bodies[0].closed  # its connection is free while the call waits
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [body.closed for body in streams.bodies] == [True, False]
