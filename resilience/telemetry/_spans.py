"""A span per call, with its attempts as children, and the trace's context on the wire."""

import asyncio
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum

import httpx
from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.semconv.attributes.http_attributes import (
    HTTP_REQUEST_METHOD,
    HTTP_REQUEST_RESEND_COUNT,
)
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from resilience._internal.outcome import is_transient_status
from resilience._internal.wire.connections import with_headers
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
from resilience.telemetry._http import (
    Attributes,
    Conventions,
    is_error,
    of_outcome,
    qualified_name,
)

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

_SUPPRESSED_BELOW = context._SUPPRESS_HTTP_INSTRUMENTATION_KEY  # noqa: SLF001 - it has no other name
_SUPPRESSED_HERE = context._SUPPRESS_INSTRUMENTATION_KEY  # noqa: SLF001


class CallSpans:
    """A subscriber that turns events into spans.

    A call is an internal span `<METHOD> <source>`. Each attempt, hedges included, is a client span
    below it, as the semantic conventions for HTTP describe a request: named by its method, in
    error from status 400 on, and ended when the response is (a streamed one: its headers). It is
    current while the request is sent, for transports to carry on from there; instrumentation of
    the HTTP library further in is suppressed, as it would describe the request again.

    What happens to a call is an event of its span; other events go to the current span. A span in
    error has an `error.type`, no other has: the qualified name of what was raised, or the status.
    A cancelled one is in error too, a hedge that lost included, by `CancelledError`. A call is in
    error when the library counts it as failed, so that a 404 is none.

    Args:
        tracer: Makes the spans.
        conventions: Describes requests.
    """

    def __init__(self, tracer: Tracer, conventions: Conventions) -> None:
        self._tracer = tracer
        self._conventions = conventions
        self._calls: dict[int, _Call] = {}
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
            case AttemptSucceeded():
                self._attempt_ended(event, event.status)
            case AttemptFailed():
                self._attempt_ended(event, event.cause)
            case AttemptCancelled():
                self._attempt_ended(event, asyncio.CancelledError())
            case _ if name := _NAMES.get(type(event)):
                self._span_of(event).add_event(name, dict(_attributes(event)))

    def _call_started(self, event: CallStarted) -> None:
        if context.get_value(_SUPPRESSED_HERE):
            return
        method = event.method
        attributes: Attributes = {
            "resilience.source": event.source,
            HTTP_REQUEST_METHOD: self._conventions.method(method),
        }
        span = self._tracer.start_span(f"{method} {event.source}", attributes=attributes)
        self._calls[event.request_id] = _Call(
            span,
            attempt_name=self._conventions.span_name(method),
            attempt_attributes={
                "resilience.source": event.source,
                **self._conventions.of_span(method, event.request),
            },
        )

    def _call_ended(self, event: CallEnded) -> None:
        if call := self._calls.pop(event.request_id, None):
            outcome = event.outcome
            call.close(outcome, error=not isinstance(outcome, int) or is_transient_status(outcome))

    def _attempt_started(self, event: AttemptStarted) -> None:
        if call := self._calls.get(event.request_id):
            self._attempts[_key(event)] = call.open_attempt(self._tracer)

    def _attempt_ended(self, event: CallEvent, outcome: int | BaseException) -> None:
        if attempt := self._attempts.pop(_key(event), None):
            attempt.close(outcome, error=is_error(outcome))

    def _span_of(self, event: Event) -> Span:
        call = self._calls.get(event.request_id) if isinstance(event, CallEvent) else None
        return trace.get_current_span() if call is None else call.span


class _Open:
    """A span that is current in its task until it is closed."""

    __slots__ = ("_token", "span")

    def __init__(self, span: Span, around: Context) -> None:
        self.span = span
        self._token = context.attach(around)

    def close(self, outcome: int | BaseException, *, error: bool) -> None:
        """End the span with an HTTP status or what was raised."""
        context.detach(self._token)
        self.span.set_attributes(of_outcome(outcome, error=error))
        if error:  # without its text, which may quote what `url.full` must not contain
            self.span.set_status(StatusCode.ERROR)
        self.span.end()


class _Call(_Open):
    """The span of a call, and what its attempts share."""

    __slots__ = ("_around", "_attempt_attributes", "_attempt_name", "_sent")

    def __init__(self, span: Span, *, attempt_name: str, attempt_attributes: Attributes) -> None:
        self._around = trace.set_span_in_context(span)
        super().__init__(span, self._around)
        self._attempt_name = attempt_name
        self._attempt_attributes = attempt_attributes
        self._sent = 0

    def open_attempt(self, tracer: Tracer) -> _Open:
        """Open a span below this one, whatever else is current: a hedge has a task of its own."""
        attributes = self._attempt_attributes
        if self._sent:
            attributes = attributes | {HTTP_REQUEST_RESEND_COUNT: self._sent}
        self._sent += 1
        span = tracer.start_span(self._attempt_name, self._around, SpanKind.CLIENT, attributes)
        around = trace.set_span_in_context(span, self._around)
        return _Open(span, context.set_value(_SUPPRESSED_BELOW, True, around))


def _key(event: CallEvent) -> tuple[int, asyncio.Task[object] | None]:
    """Return what identifies an attempt: a hedge has the attempt's number but its own task."""
    return event.request_id, asyncio.current_task()


def _attributes(event: Event) -> Iterator[tuple[str, str | int | float]]:
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in _NOT_ATTRIBUTES or value is None:
            continue
        if isinstance(value, Enum):
            value = str(value.value)
        elif not isinstance(value, int | float):
            value = qualified_name(value) if isinstance(value, Exception) else str(value)
        yield f"resilience.{field.name}", value


class PropagatingTransport(httpx.AsyncBaseTransport):
    """Adds the headers of the current context (W3C `traceparent`) to each request that is sent.

    Which headers these are is OpenTelemetry's setting (`OTEL_PROPAGATORS`, `set_global_textmap`).
    They replace headers of these names that the request has.

    The attempts of a call share its request, hedges at the same time; each sends a copy.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response to the request with these headers."""
        headers = httpx.Headers(request.headers)
        propagate.inject(headers)
        return await self._inner.handle_async_request(await with_headers(request, headers))

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()
