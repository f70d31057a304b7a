"""Events as lines, in the order in which they happen."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from examples.resilience_demo.paint import Colour, painted
from examples.resilience_demo.scenario import FAILURES_TO_OPEN, MAX_RETRIES
from resilience import (
    CallRejected,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Event,
    GaveUp,
    QueueRejected,
    RateLimitDelayed,
    RetryScheduled,
    ServerRateLimited,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An event in words."""

    kind: str
    text: str
    colour: Colour


class Timeline:
    """Writes a line for each event of the scenario worth one; subscribe `on_event`.

    Args:
        write: Takes a line without its end.
        began_s: When the timeline begins, on the event loop's clock.
        colour: Whether to paint.
    """

    def __init__(self, write: Callable[[str], object], *, began_s: float, colour: bool) -> None:
        self._write = write
        self._began_s = began_s
        self._colour = colour
        self._half_open: set[str] = set()

    def on_event(self, event: Event) -> None:
        """Write the event's line, if it has one."""
        line = told(event, was_half_open=event.source in self._half_open)
        if isinstance(event, CircuitHalfOpened):
            self._half_open.add(event.source)
        elif isinstance(event, CircuitOpened | CircuitClosed):
            self._half_open.discard(event.source)
        if line is not None:
            self._write(self._formatted(event, line))

    def _formatted(self, event: Event, line: Line) -> str:
        call = getattr(event, "request_id", None)
        number = "" if call is None else f"#{call:03d}"
        kind = f"{line.kind:<14}"
        if self._colour:
            kind = painted(kind, line.colour)
        at_s = event.at_s - self._began_s
        return f"+{at_s:6.3f}s {event.source:<14} {number:<4} {kind} {line.text}"


def told(event: Event, *, was_half_open: bool) -> Line | None:
    """Return an event in words; None for attempts, which would drown the rest.

    Args:
        event: What happened.
        was_half_open: Whether the circuit of its source was half-open before.
    """
    match event:
        case ServerRateLimited():
            pause = f"all calls to it pause for {_ms(event.pause_s)}"
            text = f"the server answered 429 with Retry-After; {pause}"
            return Line(kind="HTTP-429", text=text, colour=Colour.MAGENTA)
        case RetryScheduled():
            return Line(kind="RETRY", text=_retry(event), colour=Colour.YELLOW)
        case RateLimitDelayed():
            text = f"waited {_ms(event.waited_s)} for a token of the rate limit"
            return Line(kind="THROTTLED", text=text, colour=Colour.CYAN)
        case QueueRejected():
            return Line(kind="QUEUE-FULL", text=str(event.cause), colour=Colour.RED)
        case GaveUp():
            text = f"the call failed with {_cause(event.cause)}: {event.reason}"
            return Line(kind="GAVE-UP", text=text, colour=Colour.RED)
        case _:
            return _told_of_circuit(event, was_half_open=was_half_open)


def _told_of_circuit(event: Event, *, was_half_open: bool) -> Line | None:
    match event:
        case CallRejected():
            return Line(kind="CB-REJECT", text=_rejection(event, was_half_open), colour=Colour.RED)
        case CircuitOpened():
            return Line(kind="CIRCUIT-OPEN", text=_opening(event, was_half_open), colour=Colour.RED)
        case CircuitHalfOpened():
            text = "circuit open -> half-open: the break is over, a single trial is let through"
            return Line(kind="HALF-OPEN", text=text, colour=Colour.YELLOW)
        case CircuitClosed():
            text = "circuit half-open -> closed: the trial request went well"
            return Line(kind="CIRCUIT-CLOSED", text=text, colour=Colour.GREEN)
    return None


def _retry(event: RetryScheduled) -> str:
    retry = f"retry {event.attempt}/{MAX_RETRIES[event.source]} after {_cause(event.cause)}"
    if event.delay_s == 0:
        return f"{retry}, at once (the circuit will reject it)"
    limited = event.cause == HTTPStatus.TOO_MANY_REQUESTS  # which the exchange never says alone
    wait = "as Retry-After asks" if limited else "exponential backoff with jitter"
    return f"{retry}, in {_ms(event.delay_s)} ({wait})"


def _rejection(event: CallRejected, was_half_open: bool) -> str:
    if event.retry_after_s is None:
        return "circuit isolated by hand, not sent"
    state = "half-open" if was_half_open else "open"
    return f"circuit {state}, not sent; trial allowed in {_ms(event.retry_after_s)}"


def _opening(event: CircuitOpened, was_half_open: bool) -> str:
    if event.cause is None or event.break_s is None:
        return "circuit isolated by hand"
    why = (
        "half-open -> open: the trial request failed with"
        if was_half_open
        else f"closed -> open: {FAILURES_TO_OPEN} consecutive failures, the last"
    )
    return f"circuit {why} {_cause(event.cause)}; break of {_ms(event.break_s)}"


def _cause(cause: Exception | int) -> str:
    return f"HTTP {cause} {HTTPStatus(cause).phrase}" if isinstance(cause, int) else repr(cause)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
