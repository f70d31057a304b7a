"""What happened, one frozen value a happening.

| event | published exactly when |
|---|---|
| CallStarted | a call enters the pipeline |
| CallEnded | it leaves the pipeline, with whatever it returns or raises |
| AttemptStarted | a request is about to be sent |
| AttemptSucceeded | its response, of no transient status, is read (a stream: its headers) |
| AttemptFailed | it ended in a transient status or in an exception |
| AttemptCancelled | the caller, the total time-out or the winner of a hedge race cancelled it |
| RetryScheduled | a transient failure will be followed by another attempt |
| HedgeStarted | an attempt has not been answered in time: another one enters its queue |
| HedgeEnded | the race between an attempt and its hedges is over |
| CallRejected | the breaker refused an attempt |
| QueueRejected | the rate limit or the bulkhead refused an attempt |
| RateLimitDelayed | an attempt has waited for its token and got it |
| ServerRateLimited | a source with a rate limit of ours answered 429 |
| GaveUp | the retry policy returned a transient failure, or the total time-out fired |
| FallbackUsed | the fallback has answered for a call that failed |
| FallbackFailed | it raised, took too long or gave no response: the original failure stands |
| LimitChanged | the adaptive concurrency limit has changed |
| CircuitOpened, CircuitHalfOpened, CircuitClosed | the circuit has changed its state |

Attempts started = succeeded + failed + cancelled. Attempts are numbered from 1, calls too: one
count for all sources of a client.

A hedge is an attempt too, under the number of the attempt that it is sent against. Hedges started =
won + cancelled + failed. Between its beginning and its end, a hedge's events come from a task of
its own, in a copy of the call's context.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import httpx

from resilience.errors import BulkheadFull, Cause, RateLimited


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened at `source` at `at_s` on the event loop's clock."""

    source: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent(Event):
    """Something that happened to attempt `attempt` of call `request_id`; 0: not numbered."""

    request_id: int = 0
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(CallEvent):
    """The call has begun; `attempt` is 1, `request` what is sent, None if only `send` knows it."""

    method: str
    request: httpx.Request | None = field(default=None, repr=False)  # its URL may hold secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded(CallEvent):
    """The call ended in `outcome`: the status of its response, or what was raised."""

    outcome: int | BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted(CallEvent):
    """Attempt number `attempt` of a call is about to be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSucceeded(CallEvent):
    """The source answered with `status` within `duration_s` seconds, a stream's body left out."""

    status: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(CallEvent):
    """The attempt ended in `cause`: an exception or a transient status."""

    cause: Cause
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCancelled(CallEvent):
    """The attempt was cancelled after `duration_s` seconds; nobody's failure."""

    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(CallEvent):
    """After attempt `attempt` failed, the next one starts in `delay_s` seconds.

    At once, to be rejected, if the circuit is open beyond the wait or opens so during it.
    """

    cause: Cause
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeStarted(CallEvent):
    """Hedge number `hedge`, from 1, begins against attempt number `attempt`.

    Like any attempt it may have to wait before it is sent, or be refused.
    """

    hedge: int


class HedgeResult(StrEnum):
    """What became of a hedge."""

    WON = "won"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeEnded(CallEvent):
    """Hedge number `hedge` of attempt `attempt` gave the answer, was too late, or was no good.

    One that was refused has failed.
    """

    hedge: int
    result: HedgeResult


class GaveUpReason(StrEnum):
    """Why a transient failure was not retried."""

    RETRIES_EXHAUSTED = "retries exhausted"
    UNSAFE_METHOD = "unsafe method"
    SUPPRESSED_BY_BUDGET = "suppressed by budget"
    NO_TIME_LEFT = "no time left"
    RETRY_AFTER_TOO_LONG = "retry-after too long"
    TOTAL_TIMEOUT = "total time-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(CallEvent):
    """The call ends with the failure `cause` of attempt `attempt`."""

    cause: Cause
    reason: GaveUpReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackUsed(CallEvent):
    """The call failed with `cause`, and the fallback answered with `status` instead."""

    cause: Cause
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackFailed(CallEvent):
    """The call failed with `cause`, and its fallback with `error`."""

    cause: Cause
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRejected(CallEvent):
    """Attempt `attempt` was not sent; `retry_after_s` is None while isolated by hand."""

    retry_after_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRejected(CallEvent):
    """The attempt was not sent: no place to wait for a token or a slot, or too long a wait."""

    cause: RateLimited | BulkheadFull


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitDelayed(CallEvent):
    """The attempt waited `waited_s` seconds for its token, which it now has."""

    waited_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRateLimited(CallEvent):
    """The source answered 429; nothing is sent to it for `pause_s` seconds, 0 if it named none."""

    pause_s: float


class LimitReason(StrEnum):
    """Why an adaptive limit changed."""

    GREW = "reached without harm"
    OVERLOADED = "overloaded"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChanged(Event):
    """At most `limit` calls run at once from now on."""

    limit: int
    reason: LimitReason


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
    """Calls flow again: a trial did well, or, if not `by_trial`, `reset` was called."""

    by_trial: bool = True
