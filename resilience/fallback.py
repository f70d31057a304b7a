"""The outermost layer: another answer for a call that failed."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta

import httpx

from resilience._internal.checks import (
    DAY_S,
    expect,
    expect_callable,
    expect_function,
    outside,
    refuse,
)
from resilience._internal.outcome import is_transient_status
from resilience._internal.timing import TimeLimit
from resilience._internal.wire.body import read_whole
from resilience.call import Call, Layer
from resilience.errors import Cause, ResilienceError
from resilience.events import Event, FallbackFailed, FallbackUsed, Subscribers

Failure = Exception | httpx.Response
"""How a call ended: an error, or a response that counts as a failure."""

Answer = Callable[[httpx.Request, Failure], httpx.Response | Awaitable[httpx.Response]]
"""A function or coroutine function that answers instead, given the request and the failure."""


def call_failed(outcome: Failure) -> bool:
    """Tell whether a policy or the network ended the call, or its status is transient."""
    if isinstance(outcome, httpx.Response):
        return is_transient_status(outcome.status_code)
    return isinstance(outcome, ResilienceError | httpx.TransportError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What answers when the call has failed, all other policies included.

    Attributes:
        answer: Makes the response, e.g. `lambda request, failure: httpx.Response(200, json=[])`.
            It is called whatever the method: one that sends the request elsewhere repeats an order
            that may have been placed, unless it checks `request.method` first. The request is
            the one that failed (of a pipeline that was run without one, a request of the call's
            method and no address). A response that has been read may be kept and returned again:
            the caller gets a copy that carries its own request. One whose stream is open is for
            this call alone: it is read here, or by the block of a `stream`, which closes it. If
            this raises, or returns no `httpx.Response`, the original failure stands.
        when: Returns for every outcome, successful responses included, whether to fall back;
            must not raise.
        limit_s: Limit on `answer` and on the reading of its body in seconds, 10 ms..24 h, because
            the total timeout has ended by then. 1 s: a substitute for a slow source should be
            fast.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    answer: Answer = field(hash=False)  # a callable need not be hashable
    when: Callable[[Failure], bool] = field(default=call_failed, hash=False)
    limit_s: float = 1.0

    def __post_init__(self) -> None:
        expect_callable("answer", self.answer, "it is called with the request and the failure")
        expect_function("when", self.when, "it returns True or False")
        refuse(outside("limit_s", self.limit_s, 0.01, DAY_S, "it is in seconds"))


class FallbackLayer:
    """Replaces failures by the fallback's answer.

    If the fallback fails too, an event reports it; the caller gets the original failure, an error
    with a note about the other. Cancellations of the caller pass through; a fallback that ends in a
    cancellation of its own, because what it awaits was cancelled, has failed.
    """

    def __init__(self, fallback: Fallback, inner: Layer, *, subscribers: Subscribers) -> None:
        self._fallback = fallback
        self._inner = inner
        self._subscribers = subscribers

    async def __call__(self, call: Call) -> httpx.Response:
        """Return the inner layers' response or the fallback's."""
        try:
            response = await self._inner(call)
        except Exception as error:
            if not self._fallback.when(error):
                raise
            instead = await self._instead_of(error, call)
            if instead is None:
                raise
            return instead
        if not self._fallback.when(response):
            return response
        instead = await self._instead_of(response, call)
        if instead is None or instead is response:
            return response
        await _close(response, instead)
        return instead

    async def _instead_of(self, failure: Failure, call: Call) -> httpx.Response | None:
        try:
            with TimeLimit(self._fallback.limit_s, _too_slow):
                response = await _uncancelled(self._answer(failure, call))
        except Exception as error:  # noqa: BLE001 - user code; the original failure stands
            if isinstance(failure, Exception):
                failure.add_note(f"the fallback failed too: {error!r}")
            self._notify(FallbackFailed, call, failure, error=error)
            return None
        self._notify(FallbackUsed, call, failure, status=response.status_code)
        return response

    async def _answer(self, failure: Failure, call: Call) -> httpx.Response:
        request = httpx.Request(call.method, "") if call.request is None else call.request
        started_ns = time.perf_counter_ns()
        answered = self._fallback.answer(request, failure)
        response = await answered if inspect.isawaitable(answered) else answered
        expect("the fallback's answer", response, httpx.Response, "return an httpx.Response")
        if response is failure:
            return response
        if _is_read(response):
            response = _copy_of(response)  # its maker may keep it for other calls
        else:
            _check_open(response)
        response.request = request
        if not _is_read(response) and (
            call.keep is None or is_transient_status(response.status_code)
        ):
            response = await read_whole(response)
        response.elapsed = timedelta(microseconds=(time.perf_counter_ns() - started_ns) / 1e3)
        return response

    def _notify(self, kind: type[Event], call: Call, failure: Failure, **details: object) -> None:
        cause: Cause = failure.status_code if isinstance(failure, httpx.Response) else failure
        self._subscribers.notify_of(call, kind, cause=cause, **details)


async def _uncancelled(answering: Awaitable[httpx.Response]) -> httpx.Response:
    """Return the answer; a cancellation that is not of this task is a RuntimeError."""
    task = asyncio.current_task()
    cancelling = task.cancelling() if task is not None else 0
    try:
        return await answering
    except asyncio.CancelledError as error:
        if task is None or task.cancelling() > cancelling:
            raise
        raise RuntimeError("the fallback awaited what was cancelled; let it catch that") from error


def _is_read(response: httpx.Response) -> bool:
    try:
        response.content  # noqa: B018 - httpx has no other public way to ask
    except httpx.ResponseNotRead:
        return False
    return True


def _check_open(response: httpx.Response) -> None:
    """Raise unless an unread response can still be read."""
    stream = response.stream
    expect("the answer's stream", stream, httpx.AsyncByteStream, "read the response before")
    if response.is_closed or response.is_stream_consumed:
        raise ValueError("the fallback's answer was closed unread; read it, or leave it open")


def _copy_of(response: httpx.Response) -> httpx.Response:
    """Return a copy of a response that has been read, which may be changed."""
    copied = copy(response)  # as httpx pickles it: without its connection, and its extensions
    copied.headers = response.headers.copy()
    copied.extensions = dict(response.extensions)
    return copied


async def _close(replaced: httpx.Response, instead: httpx.Response) -> None:
    """Close the replaced response and, if that is interrupted, the other one as well."""
    try:
        with suppress(httpx.TransportError):  # the call has its answer anyway
            await replaced.aclose()
    except BaseException:
        await instead.aclose()
        raise


def _too_slow(limit_s: float) -> TimeoutError:
    return TimeoutError(f"the fallback did not answer within {limit_s:g} s; raise its limit_s")
