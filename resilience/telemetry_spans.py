"""A span a call, with its attempts as children."""

import asyncio
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CallEnded,
    CallEvent,
    CallRejected,
    CallStarted,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Event,
    FallbackFailed,
    FallbackUsed,
    GaveUp,
    HedgeEnded,
    HedgeStarted,
    LimitChanged,
    QueueRejected,
    RateLimitDelayed,
    RetryScheduled,
    ServerRateLimited,
)
from resilience.outcome import is_transient_status

_NAMES: dict[type[Event], str] = {
    CallRejected: "call.rejected",
    CircuitClosed: "circuit.closed",
    CircuitHalfOpened: "circuit.half_opened",
    CircuitOpened: "circuit.opened",
    FallbackFailed: "fallback.failed",
    FallbackUsed: "fallback.used",
    GaveUp: "call.gave_up",
    HedgeEnded: "hedge.ended",
    HedgeStarted: "hedge.started",
    LimitChanged: "limit.changed",
    QueueRejected: "queue.rejected",
    RateLimitDelayed: "rate_limit.delayed",
    RetryScheduled: "retry.scheduled",
    ServerRateLimited: "server.rate_limited",
}
"""Names of the span events; the fields of ours become attributes `resilience.<field>`."""

_NOT_ATTRIBUTES = frozenset({"source", "at_s", "request_id"})


class CallSpans:
    """A subscriber that turns events into spans.

    A call is an internal span `<METHOD> <source>`. Each attempt, hedges included, is a client
    span `attempt` below it, and is current while the request is sent, so that an instrumented
    transport carries on from there. Everything else is an event of the span that is current.
    A cancelled span ends without a status, because nobody failed.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._calls: dict[int, _Open] = {}
        self._attempts: dict[tuple[int, asyncio.Task[object] | None], _Open] = {}

    def __call__(self, event: Event) -> None:
        """Open, close or annotate a span."""
        match event:
            case CallStarted():
                self._call_started(event)
            case CallEnded():
                self._call_ended(event)
            case AttemptStarted():
                self._attempt_started(event)
            case AttemptSucceeded() | AttemptFailed() | AttemptCancelled():
                self._attempt_ended(event)
            case _ if name := _NAMES.get(type(event)):
                trace.get_current_span().add_event(name, dict(_attributes(event)))

    def _call_started(self, event: CallStarted) -> None:
        self._calls[event.request_id] = _Open(
            self._tracer.start_span(
                f"{event.method} {event.source}",
                attributes={
                    "resilience.source": event.source,
                    "http.request.method": event.method,
                },
            )
        )

    def _call_ended(self, event: CallEnded) -> None:
        if call := self._calls.pop(event.request_id, None):
            call.close(event.outcome)

    def _attempt_started(self, event: AttemptStarted) -> None:
        self._attempts[_key(event)] = _Open(
            self._tracer.start_span(
                "attempt",
                kind=SpanKind.CLIENT,
                attributes={
                    "resilience.source": event.source,
                    "http.request.resend_count": event.attempt - 1,
                },
            )
        )

    def _attempt_ended(self, event: AttemptSucceeded | AttemptFailed | AttemptCancelled) -> None:
        attempt = self._attempts.pop(_key(event), None)
        if attempt is None:
            return
        match event:
            case AttemptSucceeded():
                attempt.close(event.status)
            case AttemptFailed():
                attempt.close(event.cause)
            case AttemptCancelled():
                attempt.close(asyncio.CancelledError())


class _Open:
    """A span that is current in its task until it is closed."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token = context.attach(trace.set_span_in_context(span))

    def close(self, outcome: int | BaseException) -> None:
        """End the span with an HTTP status or what was raised."""
        context.detach(self._token)
        span = self._span
        if isinstance(outcome, int):
            span.set_attribute("http.response.status_code", outcome)
            if is_transient_status(outcome):
                span.set_attribute("error.type", str(outcome))
                span.set_status(StatusCode.ERROR)
        else:
            span.set_attribute("error.type", type(outcome).__qualname__)
            if isinstance(outcome, Exception):
                span.set_status(StatusCode.ERROR, str(outcome))
        span.end()


def _key(event: CallEvent) -> tuple[int, asyncio.Task[object] | None]:
    """Tell the attempts of a call apart: a hedge has the attempt's number but a task of its own."""
    return event.request_id, asyncio.current_task()


def _attributes(event: Event) -> Iterator[tuple[str, str | int | float]]:
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in _NOT_ATTRIBUTES or value is None:
            continue
        if isinstance(value, Enum):
            value = str(value.value)
        elif not isinstance(value, int | float):
            value = type(value).__qualname__ if isinstance(value, Exception) else str(value)
        yield f"resilience.{field.name}", value
