"""Events, each a frozen value, and their subscribers.

| event | published exactly when |
|---|---|
| CallStarted | a call enters the pipeline |
| CallEnded | it leaves the pipeline, with whatever it returns or raises |
| AttemptStarted | a request is about to be sent |
| AttemptSucceeded | its response, of no transient status, is read (a stream: its headers) |
| AttemptFailed | it ended in a transient status or in an exception |
| AttemptCancelled | the caller, the total timeout or the winner of a hedge race cancelled it |
| RetryScheduled | a transient failure will be followed by another attempt |
| HedgeStarted | an attempt has had no response in time: another one enters its queue |
| HedgeEnded | the race between an attempt and its hedges is over |
| CallRejected | the breaker refused an attempt |
| QueueRejected | the rate limit or the bulkhead refused an attempt |
| RateLimitDelayed | an attempt has waited for its token and got it |
| ServerRateLimited | a source with a rate limit of ours responded 429 |
| GaveUp | the retry policy returned a transient failure, or the total timeout fired |
| FallbackUsed | the fallback has responded for a call that failed |
| FallbackFailed | it raised, took too long or gave no response: the original failure stands |
| LimitChanged | the adaptive concurrency limit has changed |
| CircuitOpened, CircuitHalfOpened, CircuitClosed | the circuit has changed its state |

Attempts started = succeeded + failed + cancelled. Attempts are numbered from 1, and so
are calls: one count for all sources of a client.

A hedge is an attempt too, under the number of the attempt that it is sent against. Hedges started =
won + cancelled + failed. Between its beginning and its end, a hedge's events come from a task of
its own, in a copy of the call's context.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar, overload

import httpx

from resilience._internal.checks import expect, expect_function, expect_subclass
from resilience._internal.timing import loop_time_s
from resilience.call import Call
from resilience.errors import BulkheadFull, Cause, RateLimited

_log = logging.getLogger("resilience")


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
    """The source responded with `status` within `duration_s` seconds, a stream's body left out."""

    status: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(CallEvent):
    """The attempt ended in `cause`: an exception or a transient status."""

    cause: Cause
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCancelled(CallEvent):
    """The attempt was cancelled after `duration_s` seconds; not a failure of the source."""

    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(CallEvent):
    """After attempt `attempt` failed, the next one starts in `delay_s` seconds.

    At once, to be rejected, if the circuit is open beyond the wait or opens during it.
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
    """How a hedge ended."""

    WON = "won"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeEnded(CallEvent):
    """Hedge number `hedge` of attempt `attempt` won, was too late, or failed.

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
    TOTAL_TIMEOUT = "total timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(CallEvent):
    """The call ends with the failure `cause` of attempt `attempt`."""

    cause: Cause
    reason: GaveUpReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackUsed(CallEvent):
    """The call failed with `cause`, and the fallback responded with `status` instead."""

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
    """The attempt was not sent: the queue for a token or a slot was full, or the wait too long."""

    cause: RateLimited | BulkheadFull


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitDelayed(CallEvent):
    """The attempt waited `waited_s` seconds for its token, which it now has."""

    waited_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRateLimited(CallEvent):
    """The source responded 429; nothing is sent to it for `pause_s` seconds, 0 if it named none."""

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
    """Calls are sent again: a trial succeeded, or, if not `by_trial`, `reset` was called."""

    by_trial: bool = True


Kind = TypeVar("Kind", bound=Event)

Handler = Callable[[Event], object]
Unsubscribe = Callable[[], None]
"""Ends a subscription; called again, it does nothing."""

_ABSTRACT = (Event, CallEvent)


class Subscribers:
    """Handlers of events, those of every kind first, each in the order of subscription.

    An event of a kind without a handler is never made.

    Attributes:
        listen: Whether there is any handler, so that a publisher can leave out the details.
    """

    __slots__ = ("_of_every_kind", "_of_kind", "listen")

    def __init__(self) -> None:
        self._of_every_kind: tuple[Handler, ...] = ()
        self._of_kind: dict[type[Event], tuple[Handler, ...]] = {}
        self.listen = False

    @overload
    def add(
        self, handler: Callable[[Kind], object], kinds: Iterable[type[Kind]]
    ) -> Unsubscribe: ...
    @overload
    def add(self, handler: Handler, kinds: Iterable[type[Event]] | None = None) -> Unsubscribe: ...
    def add(
        self, handler: Callable[[Any], object], kinds: Iterable[type[Event]] | None = None
    ) -> Unsubscribe:
        """Call `handler` from now on with each event, or with those of exactly these `kinds`.

        Returns:
            What ends the subscription. A handler that was added twice is called twice, until both
            subscriptions have ended.

        Raises:
            TypeError: The handler cannot be called, or only with `await`; a kind is not an event
                class, or a base class that is never published itself.
        """
        expect_function("handler", handler, "start a task in it for what takes time")
        if kinds is None:
            self._of_every_kind = (*self._of_every_kind, handler)
            self.listen = True
            return partial(self._end, [None], handler)
        expect("kinds", kinds, Iterable, "list the classes of events")
        distinct = list(dict.fromkeys(kinds))
        for kind in distinct:
            expect_subclass("a kind", kind, Event, "list classes of events")
            _expect_published(kind)
        for kind in distinct:
            self._of_kind[kind] = (*self._of_kind.get(kind, ()), handler)
            self.listen = True
        return partial(self._end, [*distinct], handler)

    def _end(self, kinds: list[type[Event] | None], handler: Handler) -> None:
        while kinds:
            kind = kinds.pop()
            if kind is None:
                self._of_every_kind = _without(self._of_every_kind, handler)
            elif left := _without(self._of_kind[kind], handler):
                self._of_kind[kind] = left
            else:
                del self._of_kind[kind]
        self.listen = bool(self._of_every_kind or self._of_kind)

    def notify(self, kind: type[Event], **details: object) -> None:
        """Publish `kind(…)` with these details, timed by the running loop, if it has a handler."""
        if self._of_every_kind or kind in self._of_kind:
            self.publish(kind(at_s=loop_time_s(), **details))  # type: ignore[arg-type]

    def notify_of(self, call: Call, kind: type[Event], **details: object) -> None:
        """Publish `kind(…)` about the current attempt of `call`, if it has a handler."""
        if self._of_every_kind or kind in self._of_kind:
            event = kind(  # type: ignore[call-arg] # an event of a call, which the caller knows
                source=call.source,
                at_s=loop_time_s(),
                request_id=call.request_id,
                attempt=call.attempt,
                **details,
            )
            self.publish(event)

    def publish(self, event: Event) -> None:
        """Call every handler, here and now; what a handler raises is logged and dropped."""
        for handler in (*self._of_every_kind, *self._of_kind.get(type(event), ())):
            try:
                handler(event)
            except (Exception, asyncio.CancelledError):  # noqa: BLE001 - user code
                _log.exception("the event handler %r failed on %r", handler, event)


def _without(handlers: tuple[Handler, ...], handler: Handler) -> tuple[Handler, ...]:
    at = handlers.index(handler)
    return handlers[:at] + handlers[at + 1 :]


def _expect_published(kind: type[Event]) -> None:
    if kind in _ABSTRACT:
        raise TypeError(
            f"the kind {kind.__name__} is never published: no event is of exactly this class; "
            "leave kinds out to receive every event, or list classes like CallEnded"
        )
