"""Metrics of calls, attempts and circuits."""

import time
from asyncio import CancelledError
from collections.abc import Iterable
from dataclasses import dataclass

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation
from opentelemetry.semconv.metrics.http_metrics import HTTP_CLIENT_REQUEST_DURATION

from resilience._internal.outcome import is_transient_status
from resilience.client import ResilientClient
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
from resilience.telemetry._http import Attributes, Conventions, is_error, of_outcome

_STATES = {"closed": 0, "half-open": 1, "open": 2}
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Source: OpenTelemetry's semantic conventions for http.client.request.duration."""


class CallMetrics:
    """A subscriber that counts and times; every metric has the attribute `resilience.source`.

    | metric | kind, unit | further attribute |
    |---|---|---|
    | http.client.request.duration | histogram, s | those of the semantic conventions |
    | resilience.call.duration | histogram, s | resilience.outcome: ok, failed, cancelled |
    | resilience.attempt.duration | histogram, s | resilience.outcome: the same |
    | resilience.retries | counter | |
    | resilience.rejections | counter | resilience.reason: circuit, queue |
    | resilience.hedges | counter | resilience.outcome: won, cancelled, failed |
    | resilience.fallbacks | counter | resilience.outcome: used, failed |
    | resilience.circuit.state | gauge | 0 closed, 1 half-open, 2 open; a source that was called |
    | resilience.concurrency.limit | gauge | the adaptive limit of a source that was called |

    The histograms' counts are the numbers of calls and attempts; a request is an attempt.

    Args:
        meter: Makes the instruments.
        client: Knows the circuits and limits.
        conventions: Describes requests.
    """

    def __init__(self, meter: Meter, client: ResilientClient, conventions: Conventions) -> None:
        self._client = client
        self._conventions = conventions
        self._sources: dict[str, None] = {}  # an ordered set
        self._under_way: dict[int, _Call] = {}
        self._requests = _histogram(
            meter, HTTP_CLIENT_REQUEST_DURATION, "Duration of HTTP client requests."
        )
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
        meter.create_observable_gauge(
            "resilience.concurrency.limit",
            [self._limits],
            "{request}",
            "How many requests may be sent at once, as found by adaptive concurrency",
        )

    def __call__(self, event: Event) -> None:
        """Count the event."""
        match event:
            case CallStarted():
                self._call_started(event)
            case CallEnded():
                self._call_ended(event)
            case AttemptSucceeded():
                self._attempt_ended(event, event.status, "ok")
            case AttemptFailed():
                self._attempt_ended(event, event.cause, "failed")
            case AttemptCancelled():
                self._attempt_ended(event, CancelledError(), "cancelled")
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
        self._sources[event.source] = None
        described = self._conventions.of_request(event.method, event.request)
        self._under_way[event.request_id] = _Call(time.perf_counter_ns(), described)

    def _call_ended(self, event: CallEnded) -> None:
        if call := self._under_way.pop(event.request_id, None):
            duration_s = (time.perf_counter_ns() - call.started_ns) / 1e9
            self._calls.record(duration_s, _of(event, outcome=_outcome(event.outcome)))

    def _attempt_ended(
        self,
        event: AttemptSucceeded | AttemptFailed | AttemptCancelled,
        outcome: int | BaseException,
        result: str,
    ) -> None:
        self._attempts.record(event.duration_s, _of(event, outcome=result))
        if call := self._under_way.get(event.request_id):
            described = call.described | of_outcome(outcome, error=is_error(outcome))
            self._requests.record(event.duration_s, _of(event) | described)

    def _states(self, _options: CallbackOptions) -> Iterable[Observation]:
        for source in list(self._sources):
            if (breaker := self._client.breaker(source)) is not None:
                yield Observation(_STATES[breaker.state], {"resilience.source": source})

    def _limits(self, _options: CallbackOptions) -> Iterable[Observation]:
        for source in list(self._sources):
            if (adaptive := self._client.adaptive(source)) is not None:
                yield Observation(adaptive.limit, {"resilience.source": source})


@dataclass(frozen=True, slots=True)
class _Call:
    """A call under way."""

    started_ns: int
    described: Attributes


def _histogram(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(
        name, "s", description, explicit_bucket_boundaries_advisory=_BUCKETS_S
    )


def _of(event: Event, **attributes: str) -> Attributes:
    named = {f"resilience.{name}": value for name, value in attributes.items()}
    return {"resilience.source": event.source, **named}


def _outcome(outcome: int | BaseException) -> str:
    if isinstance(outcome, int):
        return "failed" if is_transient_status(outcome) else "ok"
    return "failed" if isinstance(outcome, Exception) else "cancelled"
