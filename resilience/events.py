"""What happened, one frozen value a happening.

| event | published exactly when |
|---|---|
| AttemptStarted | a request is about to be sent |
| AttemptSucceeded | its response, any status that is not transient, has been read |
| AttemptFailed | it ended in a transient status or in an exception |
| AttemptCancelled | the caller or the total time-out cancelled it |
| RetryScheduled | a transient failure will be followed by another attempt |
| HedgeStarted | an attempt has not been answered in time: another one is about to be sent |
| HedgeEnded | the race between an attempt and its hedges is over |
| CallRejected | the breaker refused an attempt |
| GaveUp | the retry policy returned a transient failure, or the total time-out fired |
| FallbackUsed | the fallback has answered for a call that failed |
| FallbackFailed | it has not: it raised or took too long, and the original failure stands |
| CircuitOpened, CircuitHalfOpened, CircuitClosed | the circuit has changed its state |

Attempts started = succeeded + failed + cancelled. Attempts are numbered from 1.
A hedge is an attempt too, under the number of the attempt that it is sent against; hedges started
= won + cancelled + failed.
"""

from dataclasses import dataclass
from enum import StrEnum

from resilience.errors import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a call to `source` at `at_s` on the event loop's clock."""

    source: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted(Event):
    """Attempt number `attempt` of a call is about to be sent."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSucceeded(Event):
    """The source answered with `status`, headers and body within `duration_s` seconds."""

    attempt: int
    status: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(Event):
    """The attempt ended in `cause`: an exception or a transient status."""

    attempt: int
    cause: Cause
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCancelled(Event):
    """The attempt was cancelled after `duration_s` seconds; nobody's failure."""

    attempt: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(Event):
    """After attempt `attempt` failed, the next one starts in `delay_s` seconds."""

    attempt: int
    cause: Cause
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeStarted(Event):
    """Hedge number `hedge`, from 1, is sent against attempt number `attempt`."""

    attempt: int
    hedge: int


class HedgeResult(StrEnum):
    """What became of a hedge."""

    WON = "won"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeEnded(Event):
    """Hedge number `hedge` of attempt `attempt` gave the answer, was too late, or was no good."""

    attempt: int
    hedge: int
    result: HedgeResult


class GaveUpReason(StrEnum):
    """Why a transient failure was not retried."""

    RETRIES_EXHAUSTED = "retries exhausted"
    UNSAFE_METHOD = "unsafe method"
    NO_TIME_LEFT = "no time left"
    RETRY_AFTER_TOO_LONG = "retry-after too long"
    TOTAL_TIMEOUT = "total time-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(Event):
    """The call ends with the failure `cause` of attempt `attempt`."""

    attempt: int
    cause: Cause
    reason: GaveUpReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackUsed(Event):
    """The call failed with `cause`, and the fallback answered with `status` instead."""

    attempt: int
    cause: Cause
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackFailed(Event):
    """The call failed with `cause`, and its fallback with `error`."""

    attempt: int
    cause: Cause
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRejected(Event):
    """Attempt `attempt` was not sent; `retry_after_s` is None while isolated by hand."""

    attempt: int
    retry_after_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitOpened(Event):
    """Calls are rejected for `break_s` seconds; both are None when isolated by hand."""

    cause: Cause | None
    break_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitHalfOpened(Event):
    """One trial is let through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitClosed(Event):
    """Calls flow again."""
