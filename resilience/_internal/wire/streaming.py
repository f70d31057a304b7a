"""Responses whose bodies the caller reads part by part."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

import httpx

from resilience._internal.checks import complaint_about_timeout, refuse
from resilience._internal.outcome import is_transient_status
from resilience._internal.timing import TimeLimit
from resilience._internal.wire.body import read_whole
from resilience.call import Keep, Send
from resilience.errors import StreamIdle

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
    connection usable. The policies may drop a response (a hedge that lost, a fallback that was used
    instead, a limit that fired as the headers came): it is closed, and its slot given back, before
    the block begins. The response of a fallback is closed like any other.

    Args:
        run: Puts the policies around the opening.
        open_response: Sends the request once and returns when the headers are there.
        idle_timeout_s: Longest pause between two parts of the body, in seconds, 10 ms..24 h;
            None for no limit.

    Raises:
        ValueError, TypeError: `idle_timeout_s` is out of range or not a number; nothing was sent.
    """
    refuse(complaint_about_timeout("idle_timeout_s", idle_timeout_s))
    opened = _Opened()

    async def open_once() -> httpx.Response:
        response = await open_response()
        opened.add(response)
        _limit_pauses(response, idle_timeout_s)
        if is_transient_status(response.status_code):
            return await read_whole(response)
        return response

    try:
        response = await run(open_once, keep=opened.keep)
        opened.add(response)  # a fallback's is not among them yet
        await opened.close_all_but(response)
        _limit_pauses(response, idle_timeout_s)
        yield response
    finally:
        await opened.close_all_but(None)


class _Opened:
    """The responses of one call, and the slots that they hold."""

    def __init__(self) -> None:
        self._slots: dict[httpx.Response, list[Callable[[], None]]] = {}

    def add(self, response: httpx.Response) -> None:
        self._slots.setdefault(response, [])

    def keep(self, response: httpx.Response, release: Callable[[], None]) -> None:
        self._slots.setdefault(response, []).append(release)

    async def close_all_but(self, kept: httpx.Response | None) -> None:
        async with AsyncExitStack() as leaving:  # runs all, even if some fail
            for response in [each for each in self._slots if each is not kept]:
                for release in self._slots.pop(response):
                    leaving.callback(release)
                leaving.push_async_callback(response.aclose)


def _limit_pauses(response: httpx.Response, limit_s: float | None) -> None:
    body = response.stream
    if limit_s is None or isinstance(body, _NeverIdle):
        return
    if isinstance(body, httpx.AsyncByteStream):
        response.stream = _NeverIdle(body, limit_s)


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
