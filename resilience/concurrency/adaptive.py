"""Concurrency that adapts itself: a bulkhead whose size follows the source's latency."""

from collections.abc import Callable
from http import HTTPStatus

import httpx

from resilience._internal.checks import expect
from resilience._internal.outcome import is_transient_status
from resilience._internal.timing import loop_time_s, wall_time_s
from resilience.concurrency.bulkhead import Bulkhead, BulkheadSettings
from resilience.concurrency.gradient_limit import AdaptiveSettings, GradientLimit
from resilience.errors import AttemptTimeout
from resilience.events import LimitChanged, Subscribers

_OVERLOADED_ERRORS = (AttemptTimeout, httpx.TimeoutException)
_OVERLOADED_STATUSES = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


class AdaptiveConcurrency:
    """A bulkhead whose number of slots follows the results of the calls; see `GradientLimit`.

    Take a slot from `slots`, `begin` when the request is sent, report the outcome, give the slot
    back. Not thread-safe: use it from one event loop at a time.

    Attributes:
        slots: The bulkhead.

    Args:
        settings: The rules.
        name: Of the source, for errors and events.
        clock: Returns monotonic seconds; the running event loop's `time` by default.
        subscribers: Notified when the limit changes.
        shared_clock: Returns seconds on which all callers of the source agree to some hundredths,
            so that they probe together; the time of day by default.
    """

    def __init__(
        self,
        settings: AdaptiveSettings,
        *,
        name: str,
        clock: Callable[[], float] = loop_time_s,
        subscribers: Subscribers | None = None,
        shared_clock: Callable[[], float] = wall_time_s,
    ) -> None:
        expect("settings", settings, AdaptiveSettings, "make them AdaptiveSettings(...)")
        self._name = name
        self._clock = clock
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._shared_clock = shared_clock
        self._gradient = GradientLimit(settings)
        self.slots = Bulkhead(
            BulkheadSettings(
                max_concurrent=self._gradient.slots,
                max_queue=settings.max_queue,
                max_wait_s=settings.max_wait_s,
            ),
            name=name,
        )

    @property
    def limit(self) -> int:
        """Return the limit found so far; during a probe there are fewer slots."""
        return self._gradient.limit

    def shift_times(self, by_s: float) -> None:
        """Shift every remembered time by `by_s` seconds, as the clock has shifted."""
        self._gradient.shift_times(by_s)

    def begin(self, at_s: float | None = None) -> "Measurement":
        """Return a measurement of a call that is sent `at_s` on the clock, or else now."""
        return Measurement(self, self._clock() if at_s is None else at_s)

    def _record(self, started_s: float, at_s: float | None, *, overloaded: bool) -> None:
        now_s = self._clock() if at_s is None else at_s
        running = self.slots.running
        if self._gradient.record(None if overloaded else now_s - started_s, running, now_s):
            self._evaluate(running, now_s)

    def _evaluate(self, running: int, now_s: float) -> None:
        reason = self._gradient.evaluate(running, now_s, self._shared_clock())
        self.slots.resize(self._gradient.slots)
        if reason is not None and self._subscribers.listen:
            self._subscribers.publish(
                LimitChanged(source=self._name, at_s=now_s, limit=self.limit, reason=reason)
            )


class Measurement:
    """One call under way; report how it ended, unless that says nothing about the load.

    Attributes:
        started_s: When it began, on the limiter's clock.
    """

    __slots__ = ("_limiter", "started_s")

    def __init__(self, limiter: AdaptiveConcurrency, started_s: float) -> None:
        self._limiter = limiter
        self.started_s = started_s

    def good(self, at_s: float | None = None) -> None:
        """Report a response, `at_s` on the limiter's clock or else now: its latency counts."""
        self._limiter._record(self.started_s, at_s, overloaded=False)  # noqa: SLF001 - its other half

    def overloaded(self) -> None:
        """Report that the source was overloaded: a timeout, or a refusal for load."""
        self._limiter._record(self.started_s, None, overloaded=True)  # noqa: SLF001

    def answered(self, status: int, at_s: float | None = None) -> None:
        """Report a response of any status; 429, 503 and 504 mean overload.

        Other transient statuses say nothing: they come as fast with few calls as with many.
        """
        if not is_transient_status(status):
            self.good(at_s)
        elif status in _OVERLOADED_STATUSES:
            self.overloaded()

    def failed(self, error: BaseException) -> None:
        """Report what was raised; a timeout means overload.

        An attempt that the total timeout or the caller cut short says nothing, so give slow
        sources an attempt timeout.
        """
        if isinstance(error, _OVERLOADED_ERRORS):
            self.overloaded()
