"""A circuit breaker for coroutines: which calls may be sent, and what their results mean.

pybreaker keeps the state and notifies its listeners. Admission, the window and the clock are ours,
because pybreaker admits every caller while half-open, judges late results by the state at entry,
trips on consecutive failures only, and measures the break by the wall clock.
"""

import logging
import math
from collections.abc import Callable
from types import TracebackType
from typing import Self

import pybreaker

from resilience._internal.checks import DAY_S, expect, outside, refuse
from resilience._internal.outcome import Verdict
from resilience._internal.timing import loop_time_s
from resilience._internal.window import RollingWindow
from resilience.breaker.settings import BreakerSettings, Trip
from resilience.errors import Cause, CircuitOpen
from resilience.events import CircuitClosed, CircuitHalfOpened, CircuitOpened, Event, Subscribers

WhenOpened = Callable[[Callable[[], CircuitOpen]], object]
"""Called when a circuit opens, with what makes the rejection of one call."""

_log = logging.getLogger("resilience")


class CircuitBreaker:
    """Holds calls back from a source that fails too often.

    Every change of state begins a new generation; results of calls that were admitted in an
    earlier one are ignored, so a late success cannot close the circuit and a late failure cannot
    re-open it or prolong the break. That holds for trials too: after one of an earlier half-open
    period was sent, another has failed, or `isolate`, `trip` or `reset` was called.

    While half-open one trial at a time is let through; one that is given back, or is not settled
    within `trial_timeout_s`, makes room for the next call. Its result still counts: the first
    success of any trial of this half-open period closes the circuit, the first failure opens it
    again, and ends the period. So a source that is healthy but slow closes its circuit, and one
    that fails late still makes a growing break grow, once per period.

    There is no timer: an open circuit becomes half-open when a call arrives after the break.

    Not thread-safe: use it from one event loop at a time. No method awaits.

    Attributes:
        closed: Whether calls pass freely; the breaker's own to change.

    Args:
        settings: The rules.
        name: Of the source, for errors and events.
        clock: Returns monotonic seconds; the running event loop's `time` by default.
        subscribers: Notified of changes of state.
    """

    def __init__(
        self,
        settings: BreakerSettings,
        *,
        name: str,
        clock: Callable[[], float] = loop_time_s,
        subscribers: Subscribers | None = None,
    ) -> None:
        expect("settings", settings, BreakerSettings, "make them BreakerSettings()")
        self.name = name
        self._settings = settings
        self._clock = clock
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._circuit = pybreaker.CircuitBreaker(name=name, throw_new_error_on_trip=False)
        self._trial_timeout_s = settings.trial_timeout_s or settings.break_s
        self._window = RollingWindow(settings.sampling_s)
        self.closed = True  # as pybreaker has it, whose properties cost more than the rest
        self._generation = 0
        self._consecutive_failures = 0
        self._half_open_trials = 0
        self._times_opened = 0
        self._trial: Permit | None = None  # the latest of this half-open period
        self._isolated = False
        self._blocked_until_s = -math.inf
        self._last_cause: Cause | None = None
        self._on_opened: dict[WhenOpened, None] = {}  # an ordered set

    @property
    def state(self) -> str:
        """Return "closed", "open" (isolated by hand included) or "half-open"."""
        return self._circuit.current_state

    @property
    def isolated(self) -> bool:
        """Tell whether the circuit is held open by hand."""
        return self._isolated

    @property
    def times_opened(self) -> int:
        """Return how often the circuit has opened, by hand included."""
        return self._times_opened

    @property
    def last_cause(self) -> Cause | None:
        """Return the latest failure that counted; None since the circuit last closed."""
        return self._last_cause

    @property
    def open_until_s(self) -> float:
        """Return until when calls are bound to be rejected, unless a reset comes before that.

        On the breaker's clock; infinite while isolated, -inf while closed, and while half-open,
        because a trial may end at any moment.
        """
        return self._blocked_until_s if self.state == pybreaker.STATE_OPEN else -math.inf

    def when_opened(self, callback: WhenOpened) -> None:
        """Call `callback`, once if given twice, whenever the circuit opens or a break grows."""
        self._on_opened[callback] = None

    def add_listener(self, listener: pybreaker.CircuitBreakerListener) -> None:
        """Notify a pybreaker listener of changes of state; its errors are logged and dropped.

        Of its methods only `state_change` is ever called. pybreaker calls it in the middle of the
        change; to act on the breaker, subscribe to events, which come after it.
        """
        self._circuit.add_listener(_SafeListener(listener))

    def admit(self) -> "Permit":
        """Return a permit for one call.

        Raises:
            CircuitOpen: The circuit is open, isolated, or half-open with a trial under way.
        """
        if self.closed:
            return Permit(self, self._generation)
        return self._admit_trial()

    def check(self) -> None:
        """Raise what `admit` would raise now, and take nothing.

        Raises:
            CircuitOpen: The circuit is open, isolated, or half-open with a trial under way.
        """
        if not self.closed and self._blocked_until_s > self._clock():
            raise self._rejection()

    def isolate(self) -> None:
        """Reject every call until `reset`; do nothing if the circuit is isolated already."""
        if self._isolated:
            return
        self._isolated = True
        self._blocked_until_s = math.inf
        self._move_to_open()
        self._publish(CircuitOpened, cause=None, break_s=None)

    def trip(self, break_s: float, cause: Cause) -> None:
        """Open the circuit for `break_s` seconds, or keep it open that long, whatever was counted.

        For what is known from another process; an isolated circuit stays isolated.

        Raises:
            ValueError, TypeError: `break_s` is not a number of seconds in 0..24 h.
        """
        refuse(outside("break_s", break_s, 0, DAY_S, "isolate() holds it open until reset()"))
        until_s = self._clock() + break_s
        if self._circuit.current_state == pybreaker.STATE_OPEN:
            self._blocked_until_s = max(until_s, self._blocked_until_s)
            self._notify_opened()
            return
        self._last_cause = cause
        self._blocked_until_s = until_s
        self._move_to_open()
        self._publish(CircuitOpened, cause=cause, break_s=break_s)

    def reset(self, *, by_trial: bool = False) -> None:
        """Close the circuit if it is not closed, and forget what was counted.

        `by_trial` goes into the event: a trial in another process succeeded.
        """
        self._isolated = False
        self._close(by_trial=by_trial)

    def shift_times(self, by_s: float) -> None:
        """Shift every remembered time by `by_s` seconds, as the clock has shifted."""
        self._blocked_until_s += by_s
        self._window.shift_times(by_s)

    def _rejection(self) -> CircuitOpen:
        if self._isolated:
            return CircuitOpen(self.name, None, None)
        left_s = max(0.0, self._blocked_until_s - self._clock())
        return CircuitOpen(self.name, left_s, self._last_cause)

    def _admit_trial(self) -> "Permit":
        self.check()
        opened = self._circuit.current_state == pybreaker.STATE_OPEN
        if opened:
            self._half_open_trials += 1
            self._move(self._circuit.half_open)
        trial = self._trial = Permit(self, self._generation)
        self._blocked_until_s = self._clock() + self._trial_timeout_s
        if opened:
            self._publish(CircuitHalfOpened)
        if trial.generation != self._generation:  # a handler of the event has changed the circuit
            return self.admit()
        return trial

    def _on_success(self, permit: "Permit", at_s: float | None) -> None:
        if permit.generation != self._generation:
            return
        if self.closed:
            self._consecutive_failures = 0
            self._window.record_success(self._clock() if at_s is None else at_s)
        else:
            self._close(by_trial=True)

    def _on_failure(self, permit: "Permit", cause: Cause) -> None:
        if permit.generation != self._generation:
            return
        self._last_cause = cause
        now_s = self._clock()
        if self.closed:
            self._consecutive_failures += 1
            self._window.record_failure(now_s)
        throughput, failures = self._window.counts(now_s)
        in_a_row = self._consecutive_failures
        if not self.closed or self._settings.opens_after(failures, throughput, in_a_row=in_a_row):
            self._open(cause, now_s, failures / throughput if throughput else 0.0, failures)

    def _on_release(self, permit: "Permit") -> None:
        if permit is self._trial:
            self._trial = None
            self._blocked_until_s = -math.inf

    def _open(self, cause: Cause, now_s: float, ratio: float, failures: int) -> None:
        trials = self._half_open_trials
        trip = Trip(failure_ratio=ratio, failures=failures, half_open_trials=trials)
        break_s = self._settings.break_after(trip)
        self._blocked_until_s = now_s + break_s
        self._move_to_open()
        self._publish(CircuitOpened, cause=cause, break_s=break_s)

    def _move_to_open(self) -> None:
        self._times_opened += 1
        self._move(self._circuit.open)
        self._notify_opened()

    def _notify_opened(self) -> None:
        for callback in self._on_opened:
            callback(self._rejection)

    def _close(self, *, by_trial: bool) -> None:
        self._window.reset()
        self._consecutive_failures = 0
        self._half_open_trials = 0
        self._last_cause = None
        self._blocked_until_s = -math.inf
        was_closed = self.closed
        self._move(self._circuit.close)
        if not was_closed:
            self._publish(CircuitClosed, by_trial=by_trial)

    def _move(self, change: Callable[[], object]) -> None:
        self._generation += 1
        self._trial = None
        change()
        self.closed = self._circuit.current_state == pybreaker.STATE_CLOSED

    def _publish(self, kind: Callable[..., Event], **details: object) -> None:
        if self._subscribers.listen:
            event = kind(source=self.name, at_s=self._clock(), **details)
            self._subscribers.publish(event)


class Permit:
    """Permission for one call; settle it exactly once by `success`, `failure` or `release`.

    As a context manager it settles itself: an exception is a failure, a cancellation (any
    `BaseException` that is not an `Exception`) gives the permit back, anything else is a success.
    """

    __slots__ = ("_breaker", "_settled", "generation")

    def __init__(self, breaker: CircuitBreaker, generation: int) -> None:
        self._breaker = breaker
        self._settled = False
        self.generation = generation

    def success(self, at_s: float | None = None) -> None:
        """Report a success of the source, `at_s` on the breaker's clock, or else now."""
        self._settle()
        self._breaker._on_success(self, at_s)  # noqa: SLF001 - a permit is the breaker's other half

    def failure(self, cause: Cause) -> None:
        """Report that the source failed with `cause`."""
        self._settle()
        self._breaker._on_failure(self, cause)  # noqa: SLF001

    def release(self) -> None:
        """Give the permit back: the call says nothing about the source."""
        self._settle()
        self._breaker._on_release(self)  # noqa: SLF001

    def settle(self, verdict: Verdict, cause: BaseException | int) -> None:
        """Report what `cause`, the call's status or exception, says about the source."""
        if verdict is Verdict.SUCCESS:
            self.success()
        elif verdict is Verdict.FAILURE and isinstance(cause, Cause):
            self.failure(cause)
        else:
            self.release()

    def _settle(self) -> None:
        self._expect_unsettled()
        self._settled = True

    def _expect_unsettled(self) -> None:
        if self._settled:
            raise RuntimeError(
                "the permit is already settled; ask the breaker for one permit per call"
            )

    def __enter__(self) -> Self:
        self._expect_unsettled()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._settled:
            return
        if error is None:
            self.success()
        elif isinstance(error, Exception):
            self.failure(error)
        else:
            self.release()


class _SafeListener(pybreaker.CircuitBreakerListener):
    """Keeps a listener's error out of pybreaker, which would stop in the middle of the change."""

    def __init__(self, listener: pybreaker.CircuitBreakerListener) -> None:
        self._listener = listener

    def state_change(
        self,
        cb: pybreaker.CircuitBreaker,
        old_state: pybreaker.CircuitBreakerState | None,
        new_state: pybreaker.CircuitBreakerState,
    ) -> None:
        """Pass the change on."""
        try:
            self._listener.state_change(cb, old_state, new_state)
        except Exception:  # noqa: BLE001 - user code
            _log.exception("the listener %r failed on %s", self._listener, new_state.name)
