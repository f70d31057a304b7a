"""Concurrency that adapts itself: a bulkhead whose size follows how the source does."""

from collections.abc import Callable
from http import HTTPStatus

import httpx

from resilience.adaptive_limit import AdaptiveSettings, AimdLimit
from resilience.bulkhead import Bulkhead, BulkheadSettings
from resilience.call import Call, Layer
from resilience.clock import loop_time_s
from resilience.errors import AttemptTimeout
from resilience.events import LimitChanged
from resilience.kinds import expect
from resilience.outcome import is_transient_status
from resilience.subscribers import Subscribers

_OVERLOADED_ERRORS = (AttemptTimeout, httpx.TimeoutException)
_OVERLOADED_STATUSES = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


class AdaptiveConcurrency:
    """Slots as of a bulkhead, as many as the results of the calls suggest; see `AimdLimit`.

    Take a slot from `slots`, `begin` when the request is sent, tell the outcome, give the slot
    back. Not thread-safe: use it from one event loop.

    Attributes:
        slots: The bulkhead.

    Args:
        settings: The rules.
        name: Of the source, for errors and events.
        clock: Returns monotonic seconds; the running event loop's `time` by default.
        subscribers: Who hears when the limit changes.
    """

    def __init__(
        self,
        settings: AdaptiveSettings,
        *,
        name: str,
        clock: Callable[[], float] = loop_time_s,
        subscribers: Subscribers | None = None,
    ) -> None:
        expect("settings", settings, AdaptiveSettings, "make them AdaptiveSettings(...)")
        self._name = name
        self._clock = clock
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._aimd = AimdLimit(settings)
        self.slots = Bulkhead(
            BulkheadSettings(
                max_concurrent=self._aimd.slots,
                max_queue=settings.max_queue,
                max_wait_s=settings.max_wait_s,
            ),
            name=name,
        )

    @property
    def limit(self) -> int:
        """Return the limit found so far; during a probe there are fewer slots."""
        return self._aimd.limit

    def begin(self) -> "Measurement":
        """Return a measurement of a call that is sent now."""
        return Measurement(self)

    def _record(self, measurement: "Measurement", *, overloaded: bool) -> None:
        now_s = self._clock()
        latency_s = None if overloaded else now_s - measurement.started_s
        aimd = self._aimd
        reason = aimd.record(measurement.round, latency_s, self.slots.running, now_s)
        if aimd.round == measurement.round:
            return
        self.slots.resize(self._aimd.slots)
        if reason is not None and self._subscribers.listen:
            self._subscribers.publish(
                LimitChanged(source=self._name, at_s=now_s, limit=self.limit, reason=reason)
            )


class Measurement:
    """One call under way; tell how it ended, or nothing if that says nothing about the load.

    Attributes:
        round: Number of the limiter's round in which it began.
        started_s: When it began, on the limiter's clock.
    """

    __slots__ = ("_limiter", "round", "started_s")

    def __init__(self, limiter: AdaptiveConcurrency) -> None:
        self._limiter = limiter
        self.round = limiter._aimd.round  # noqa: SLF001 - a measurement is the limiter's other half
        self.started_s = limiter._clock()  # noqa: SLF001

    def good(self) -> None:
        """Report an answer; the time since the beginning counts as its latency."""
        self._limiter._record(self, overloaded=False)  # noqa: SLF001

    def overloaded(self) -> None:
        """Report that the source had too much to do: a time-out, or a refusal for load."""
        self._limiter._record(self, overloaded=True)  # noqa: SLF001


class AdaptiveLayer:
    """Measures each attempt; the slot was taken further out.

    Time-outs, 429, 503 and 504 mean overload. Other transient failures say nothing: they come as
    fast with few calls as with many. An attempt that the total time-out or the caller cut short
    says nothing either, so give slow sources an attempt time-out.
    """

    def __init__(self, limiter: AdaptiveConcurrency, inner: Layer) -> None:
        self._limiter = limiter
        self._inner = inner

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layer."""
        measurement = Measurement(self._limiter)
        try:
            response = await self._inner(call)
        except _OVERLOADED_ERRORS:
            measurement.overloaded()
            raise
        if response.status_code in _OVERLOADED_STATUSES:
            measurement.overloaded()
        elif not is_transient_status(response.status_code):
            measurement.good()
        return response
