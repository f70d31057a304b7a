"""Responses whose bodies are read by the caller, part by part."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Protocol

import httpx

from resilience.call import Keep, Send
from resilience.errors import StreamIdle
from resilience.outcome import is_transient_status
from resilience.ranges import refuse
from resilience.source import complaint_about_timeout
from resilience.time_limit import TimeLimit
from resilience.whole_body import read_whole

DEFAULT_IDLE_TIMEOUT_S = 30.0


class Run(Protocol):
    """Puts a source's policies around one call; see `Pipeline.run`."""

    async def __call__(self, send: Send, *, keep: Keep | None = None) -> httpx.Response:
        """Return the response."""


@asynccontextmanager
async def streamed(
    run: Run, open_response: Send, *, idle_timeout_s: float | None
) -> AsyncIterator[httpx.Response]:
    """Yield the response that `run` makes of `open_response`, its body unread; close it after.

    A transient response is read at once, within the attempt's limit, so that a retry leaves its
    connection usable. Whatever was opened is closed in the end: the policies may have dropped a
    response on its way (a hedge that lost, a limit that fired as the headers came).

    Args:
        run: Puts the policies around the opening.
        open_response: Sends the request once and returns when the headers are there.
        idle_timeout_s: Longest silence between two parts of the body, in seconds, 10 ms..24 h;
            None for any.

    Raises:
        ValueError, TypeError: `idle_timeout_s` is out of range or no number; nothing was sent.
    """
    refuse(complaint_about_timeout("idle_timeout_s", idle_timeout_s))
    opened: list[httpx.Response] = []

    async def open_once() -> httpx.Response:
        response = await open_response()
        opened.append(response)
        if is_transient_status(response.status_code):
            return await read_whole(response)
        return response

    with ExitStack() as held:
        try:
            response = await run(open_once, keep=held.callback)
            if idle_timeout_s is not None and isinstance(response.stream, httpx.AsyncByteStream):
                response.stream = _NeverIdle(response.stream, idle_timeout_s)
            yield response
        finally:
            for each in opened:
                await each.aclose()


class _NeverIdle(httpx.AsyncByteStream):
    """A body that raises StreamIdle when its next part takes too long."""

    def __init__(self, body: httpx.AsyncByteStream, limit_s: float) -> None:
        self._body = body
        self._limit_s = limit_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = aiter(self._body)
        while True:
            with TimeLimit(self._limit_s, StreamIdle):
                part = await anext(parts, None)
            if part is None:
                return
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
