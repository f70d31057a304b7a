"""The outermost layer: another answer for a call that failed."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

from resilience.call import Call, Layer
from resilience.errors import Cause, ResilienceError
from resilience.events import Event, FallbackFailed, FallbackUsed
from resilience.kinds import expect_callable, expect_function
from resilience.outcome import is_transient_status
from resilience.ranges import DAY_S, outside, refuse
from resilience.subscribers import Subscribers
from resilience.time_limit import TimeLimit

Failure = Exception | httpx.Response
"""What a call ended in: an error, or a response that is no answer."""

Answer = Callable[[httpx.Request, Failure], httpx.Response | Awaitable[httpx.Response]]
"""A function or coroutine function that answers instead, given the request and the failure."""


def call_failed(outcome: Failure) -> bool:
    """Tell whether a policy or the network ended the call, or a transient status is left of it."""
    if isinstance(outcome, httpx.Response):
        return is_transient_status(outcome.status_code)
    return isinstance(outcome, ResilienceError | httpx.TransportError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What answers when the call has failed, all other policies included.

    Attributes:
        answer: Makes the response, e.g. `lambda request, failure: httpx.Response(200, json=[])`.
            The request is the one that failed (of a pipeline that was run without one, a request
            of the call's method and no address). If this raises, the original failure stands.
        when: Tells for every outcome, responses that are fine included, whether to fall back;
            must not raise.
        limit_s: Limit on `answer` in seconds, 10 ms..24 h, because the total time-out has ended
            by then. 1 s: what stands in for a slow source had better be fast.

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

    A fallback that fails too is told about; its caller gets the original failure, an error with a
    note about the other. Cancellations of the caller pass through; a fallback that is cancelled
    by itself, because what it awaits was, has failed.
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
        if instead is None:
            return response
        await response.aclose()
        return instead

    async def _instead_of(self, failure: Failure, call: Call) -> httpx.Response | None:
        request = httpx.Request(call.method, "") if call.request is None else call.request
        try:
            with TimeLimit(self._fallback.limit_s, _too_slow):
                response = await _uncancelled(self._fallback.answer, request, failure)
            response.request = request
        except Exception as error:  # noqa: BLE001 - anybody's code; the original failure stands
            if isinstance(failure, Exception):
                failure.add_note(f"the fallback failed too: {error!r}")
            self._tell(FallbackFailed, call, failure, error=error)
            return None
        self._tell(FallbackUsed, call, failure, status=response.status_code)
        return response

    def _tell(self, kind: type[Event], call: Call, failure: Failure, **details: object) -> None:
        cause: Cause = failure.status_code if isinstance(failure, httpx.Response) else failure
        self._subscribers.tell_of(call, kind, cause=cause, **details)


async def _uncancelled(answer: Answer, request: httpx.Request, failure: Failure) -> httpx.Response:
    """Return the answer; a cancellation that nobody asked of this task is a RuntimeError."""
    task = asyncio.current_task()
    cancelling = task.cancelling() if task is not None else 0
    try:
        answered = answer(request, failure)
        return await answered if inspect.isawaitable(answered) else answered
    except asyncio.CancelledError as error:
        if task is None or task.cancelling() > cancelling:
            raise
        raise RuntimeError("the fallback awaited what was cancelled; let it catch that") from error


def _too_slow(limit_s: float) -> TimeoutError:
    return TimeoutError(f"the fallback did not answer within {limit_s:g} s; raise its limit_s")
