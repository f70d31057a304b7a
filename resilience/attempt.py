"""The innermost layer: one request on the wire, limited in time and told about."""

import asyncio
import time

import httpx

from resilience.call import Call
from resilience.errors import AttemptTimeout, Cause
from resilience.events import AttemptCancelled, AttemptFailed, AttemptStarted, AttemptSucceeded
from resilience.outcome import is_transient_status
from resilience.subscribers import Subscribers
from resilience.time_limit import TimeLimit


class AttemptLayer:
    """Sends the request once, within `limit_s` seconds if that is given."""

    def __init__(self, limit_s: float | None, *, source: str, subscribers: Subscribers) -> None:
        self._limit_s = limit_s
        self._source = source
        self._subscribers = subscribers

    async def __call__(self, call: Call) -> httpx.Response:
        """Return the response, whatever its status, or raise what went wrong."""
        if self._subscribers:
            return await self._send_and_tell(call)
        return await self._send(call)

    async def _send(self, call: Call) -> httpx.Response:
        if self._limit_s is None:
            return await call.send()
        with TimeLimit(self._limit_s, AttemptTimeout):
            return await call.send()

    async def _send_and_tell(self, call: Call) -> httpx.Response:
        now_s = asyncio.get_running_loop().time
        self._subscribers.publish(
            AttemptStarted(source=self._source, at_s=now_s(), attempt=call.attempt)
        )
        started_ns = time.perf_counter_ns()
        try:
            response = await self._send(call)
        except asyncio.CancelledError:
            self._subscribers.publish(
                AttemptCancelled(
                    source=self._source,
                    at_s=now_s(),
                    attempt=call.attempt,
                    duration_s=_since_s(started_ns),
                )
            )
            raise
        except Exception as error:
            self._tell_failure(call, error, _since_s(started_ns))
            raise
        if is_transient_status(response.status_code):
            self._tell_failure(call, response.status_code, _since_s(started_ns))
            return response
        self._subscribers.publish(
            AttemptSucceeded(
                source=self._source,
                at_s=now_s(),
                attempt=call.attempt,
                status=response.status_code,
                duration_s=_since_s(started_ns),
            )
        )
        return response

    def _tell_failure(self, call: Call, cause: Cause, duration_s: float) -> None:
        self._subscribers.publish(
            AttemptFailed(
                source=self._source,
                at_s=asyncio.get_running_loop().time(),
                attempt=call.attempt,
                cause=cause,
                duration_s=duration_s,
            )
        )


def _since_s(started_ns: int) -> float:
    return (time.perf_counter_ns() - started_ns) / 1e9
