"""The layer that limits the whole call in time."""

import httpx

from resilience.call import Call, Layer
from resilience.errors import TotalTimeout
from resilience.events import GaveUp, GaveUpReason
from resilience.subscribers import Subscribers
from resilience.timing.time_limit import time_limits


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
            self._subscribers.tell_of(call, GaveUp, cause=error, reason=reason)
            raise
