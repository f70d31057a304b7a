"""The innermost layer: one request on the wire, limited in time and told about."""

import asyncio
import time
from contextlib import nullcontext

import httpx

from resilience.call import Call
from resilience.errors import AttemptTimeout
from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
)
from resilience.outcome import TOO_MANY_REQUESTS, is_transient_status
from resilience.statistics import Counts
from resilience.subscribers import Subscribers
from resilience.timing.time_limit import time_limits


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
            return await self._send_and_tell(call)
        with self._limited():
            response = await call.send()
        if response.status_code == TOO_MANY_REQUESTS:
            self._counts.http_429 += 1
        return response

    async def _send_and_tell(self, call: Call) -> httpx.Response:
        tell_of = self._subscribers.tell_of
        tell_of(call, AttemptStarted)
        started_ns = time.perf_counter_ns()
        try:
            with self._limited():
                response = await call.send()
        except asyncio.CancelledError:
            tell_of(call, AttemptCancelled, duration_s=_since_s(started_ns))
            raise
        except Exception as error:
            tell_of(call, AttemptFailed, cause=error, duration_s=_since_s(started_ns))
            raise
        status, duration_s = response.status_code, _since_s(started_ns)
        if is_transient_status(status):
            self._counts.http_429 += status == TOO_MANY_REQUESTS
            tell_of(call, AttemptFailed, cause=status, duration_s=duration_s)
        else:
            tell_of(call, AttemptSucceeded, status=status, duration_s=duration_s)
        return response


def _since_s(started_ns: int) -> float:
    return (time.perf_counter_ns() - started_ns) / 1e9
