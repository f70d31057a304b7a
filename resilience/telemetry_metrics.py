"""Calls, attempts and circuits in numbers."""

import time
from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

from resilience.circuit_breaker import CircuitBreaker
from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptSucceeded,
    CallEnded,
    CallRejected,
    CallStarted,
    Event,
    FallbackFailed,
    FallbackUsed,
    HedgeEnded,
    QueueRejected,
    RetryScheduled,
)
from resilience.outcome import is_transient_status

_STATES = {"closed": 0, "half-open": 1, "open": 2}
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Source: OpenTelemetry's semantic conventions for http.client.request.duration."""


class CallMetrics:
    """A subscriber that counts and times; every metric has the attribute `resilience.source`.

    | metric | kind, unit | further attribute |
    |---|---|---|
    | resilience.call.duration | histogram, s | resilience.outcome: ok, failed, cancelled |
    | resilience.attempt.duration | histogram, s | resilience.outcome: the same |
    | resilience.retries | counter | |
    | resilience.rejections | counter | resilience.reason: circuit, queue |
    | resilience.hedges | counter | resilience.outcome: won, cancelled, failed |
    | resilience.fallbacks | counter | resilience.outcome: used, failed |
    | resilience.circuit.state | gauge | 0 closed, 1 half-open, 2 open; a source that was called |

    The histograms' counts are the numbers of calls and attempts.

    Args:
        meter: Makes the instruments.
        breaker_of: Returns the circuit breaker of a source, None if it has none.
    """

    def __init__(self, meter: Meter, *, breaker_of: Callable[[str], CircuitBreaker | None]) -> None:
        self._breaker_of = breaker_of
        self._breakers: dict[str, CircuitBreaker | None] = {}
        self._started_ns: dict[int, int] = {}
        self._calls = _histogram(meter, "resilience.call.duration", "Calls, retries included")
        self._attempts = _histogram(meter, "resilience.attempt.duration", "Requests sent")
        self._retries = meter.create_counter("resilience.retries", "{retry}")
        self._rejections = meter.create_counter("resilience.rejections", "{rejection}")
        self._hedges = meter.create_counter("resilience.hedges", "{hedge}")
        self._fallbacks = meter.create_counter("resilience.fallbacks", "{fallback}")
        meter.create_observable_gauge(
            "resilience.circuit.state",
            [self._states],
            description="0 closed, 1 half-open, 2 open",
        )

    def __call__(self, event: Event) -> None:
        """Count the event."""
        match event:
            case CallStarted():
                self._call_started(event)
            case CallEnded():
                self._call_ended(event)
            case AttemptSucceeded():
                self._attempts.record(event.duration_s, _of(event, outcome="ok"))
            case AttemptFailed():
                self._attempts.record(event.duration_s, _of(event, outcome="failed"))
            case AttemptCancelled():
                self._attempts.record(event.duration_s, _of(event, outcome="cancelled"))
            case _:
                self._count(event)

    def _count(self, event: Event) -> None:
        match event:
            case RetryScheduled():
                self._retries.add(1, _of(event))
            case CallRejected():
                self._rejections.add(1, _of(event, reason="circuit"))
            case QueueRejected():
                self._rejections.add(1, _of(event, reason="queue"))
            case HedgeEnded():
                self._hedges.add(1, _of(event, outcome=event.result.value))
            case FallbackUsed():
                self._fallbacks.add(1, _of(event, outcome="used"))
            case FallbackFailed():
                self._fallbacks.add(1, _of(event, outcome="failed"))

    def _call_started(self, event: CallStarted) -> None:
        self._started_ns[event.request_id] = time.perf_counter_ns()
        if event.source not in self._breakers:
            self._breakers[event.source] = self._breaker_of(event.source)

    def _call_ended(self, event: CallEnded) -> None:
        started_ns = self._started_ns.pop(event.request_id, None)
        if started_ns is not None:
            duration_s = (time.perf_counter_ns() - started_ns) / 1e9
            self._calls.record(duration_s, _of(event, outcome=_outcome(event.outcome)))

    def _states(self, _options: CallbackOptions) -> Iterable[Observation]:
        for source, breaker in list(self._breakers.items()):
            if breaker is not None:
                yield Observation(_STATES[breaker.state], {"resilience.source": source})


def _histogram(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(
        name, "s", description, explicit_bucket_boundaries_advisory=_BUCKETS_S
    )


def _of(event: Event, **attributes: str) -> dict[str, str]:
    named = {f"resilience.{name}": value for name, value in attributes.items()}
    return {"resilience.source": event.source, **named}


def _outcome(outcome: int | BaseException) -> str:
    if isinstance(outcome, int):
        return "failed" if is_transient_status(outcome) else "ok"
    return "failed" if isinstance(outcome, Exception) else "cancelled"
