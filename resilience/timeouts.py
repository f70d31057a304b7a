"""The two layers that limit time: the total timeout of a call, and each attempt's own.

The attempt is the innermost layer: one request on the wire, counted and reported to subscribers.
"""

import asyncio
import time
from contextlib import nullcontext

import httpx

from resilience._internal.outcome import TOO_MANY_REQUESTS, is_transient_status
from resilience._internal.timing import time_limits
from resilience.call import Call, Layer
from resilience.errors import AttemptTimeout, TotalTimeout
from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    GaveUp,
    GaveUpReason,
    Subscribers,
)
from resilience.statistics import Counts


class TotalTimeoutLayer:
    """Ends a call, attempts and waits included, after `limit_s` seconds with TotalTimeout."""

    def __init__(self, limit_s: float, inner: Layer, *, subscribers: Subscribers) -> None:
        self._limited = time_limits(limit_s, TotalTimeout)
        self._inner = inner
        self._subscribers = subscribers

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers within the limit."""
        try:
            with self._limited() as limit:
                call.deadline_s = limit.deadline_s
                return await self._inner(call)
        except TotalTimeout as error:
            reason = GaveUpReason.TOTAL_TIMEOUT
            self._subscribers.notify_of(call, GaveUp, cause=error, reason=reason)
            raise


class AttemptLayer:
    """Sends the request once, within `limit_s` seconds if that is given."""

    def __init__(self, limit_s: float | None, *, subscribers: Subscribers, counts: Counts) -> None:
        self._limited = nullcontext if limit_s is None else time_limits(limit_s, AttemptTimeout)
        self._subscribers = subscribers
        self._counts = counts

    async def __call__(self, call: Call) -> httpx.Response:
        """Return the response, whatever its status, or raise what went wrong."""
        self._counts.attempts += 1
        if self._subscribers.listen:
            return await self._send_and_notify(call)
        with self._limited():
            response = await call.send()
        if response.status_code == TOO_MANY_REQUESTS:
            self._counts.http_429 += 1
        return response

    async def _send_and_notify(self, call: Call) -> httpx.Response:
        notify_of = self._subscribers.notify_of
        notify_of(call, AttemptStarted)
        started_ns = time.perf_counter_ns()
        try:
            with self._limited():
                response = await call.send()
        except asyncio.CancelledError:
            notify_of(call, AttemptCancelled, duration_s=_since_s(started_ns))
            raise
        except Exception as error:
            notify_of(call, AttemptFailed, cause=error, duration_s=_since_s(started_ns))
            raise
        status, duration_s = response.status_code, _since_s(started_ns)
        if is_transient_status(status):
            self._counts.http_429 += status == TOO_MANY_REQUESTS
            notify_of(call, AttemptFailed, cause=status, duration_s=duration_s)
        else:
            notify_of(call, AttemptSucceeded, status=status, duration_s=duration_s)
        return response


def _since_s(started_ns: int) -> float:
    return (time.perf_counter_ns() - started_ns) / 1e9
