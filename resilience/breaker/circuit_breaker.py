"""A circuit breaker for coroutines: who may call, and what the results mean.

pybreaker keeps the state and tells its listeners. Admission, the window and the clock are ours,
because pybreaker admits every caller while half-open, judges late results by the state at entry,
trips on consecutive failures only, and measures the break by the wall clock.
"""

import math
from collections.abc import Callable

import pybreaker

from resilience.breaker.permit import Permit
from resilience.breaker.safe_listener import SafeListener
from resilience.breaker.settings import BreakerSettings, Trip
from resilience.checks.kinds import expect
from resilience.checks.ranges import DAY_S, outside, refuse
from resilience.errors import Cause, CircuitOpen
from resilience.events import CircuitClosed, CircuitHalfOpened, CircuitOpened, Event
from resilience.subscribers import Subscribers
from resilience.timing.clock import loop_time_s
from resilience.window import RollingWindow

WhenOpened = Callable[[Callable[[], CircuitOpen]], object]
"""Called when a circuit opens, with what makes the rejection of one call."""


class CircuitBreaker:
    """Holds calls back from a source that fails too often.

    Every change of state begins a new generation; results of calls that were admitted in an
    earlier one are ignored, so a late success cannot close the circuit and a late failure cannot
    re-open it or prolong the break. That holds for trials too: since one of an earlier half-open
    period was sent, another has failed, or somebody has decided by hand, which is newer.

    While half-open one trial at a time is let through; one that is given back, or is not settled
    within `trial_timeout_s`, makes room for the next call. Its result still counts: the first
    success of any trial of this half-open period closes the circuit, the first failure opens it
    again, and ends the period. So a source that is well but slow closes its circuit, and one that
    fails late still makes a growing break grow, once per period.

    There is no timer: an open circuit becomes half-open when a call arrives after the break.

    Not thread-safe: use it from one event loop at a time. No method awaits.

    Attributes:
        closed: Whether calls pass freely; the breaker's own to change.

    Args:
        settings: The rules.
        name: Of the source, for errors and events.
        clock: Returns monotonic seconds; the running event loop's `time` by default.
        subscribers: Who hears about changes of state.
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
        self._told: dict[WhenOpened, None] = {}  # an ordered set

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

    def when_opened(self, tell: WhenOpened) -> None:
        """Have `tell`, once if given twice, called whenever the circuit opens or a break grows."""
        self._told[tell] = None

    def add_listener(self, listener: pybreaker.CircuitBreakerListener) -> None:
        """Tell a pybreaker listener about changes of state; its errors are logged and swallowed.

        Of its methods only `state_change` is ever called. pybreaker calls it in the middle of the
        change; to act on the breaker, subscribe to events, which come after it.
        """
        self._circuit.add_listener(SafeListener(listener))

    def admit(self) -> Permit:
        """Return leave for one call.

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
        """Open the circuit for `break_s` seconds, or keep it open so long, whatever was counted.

        For what is known from elsewhere; an isolated circuit stays isolated.

        Raises:
            ValueError, TypeError: The break is no number of seconds in 0..24 h.
        """
        refuse(outside("break_s", break_s, 0, DAY_S, "isolate() holds it open until reset()"))
        until_s = self._clock() + break_s
        if self._circuit.current_state == pybreaker.STATE_OPEN:
            self._blocked_until_s = max(until_s, self._blocked_until_s)
            self._tell_opened()
            return
        self._last_cause = cause
        self._blocked_until_s = until_s
        self._move_to_open()
        self._publish(CircuitOpened, cause=cause, break_s=break_s)

    def reset(self, *, by_trial: bool = False) -> None:
        """Close the circuit, if need be, and forget what was counted.

        `by_trial` tells those who listen that a trial in another process did well.
        """
        self._isolated = False
        self._close(by_trial=by_trial)

    def shift_times(self, by_s: float) -> None:
        """Move every moment that it remembers by so many seconds: the clock has moved so."""
        self._blocked_until_s += by_s
        self._window.shift_times(by_s)

    def _rejection(self) -> CircuitOpen:
        if self._isolated:
            return CircuitOpen(self.name, None, None)
        left_s = max(0.0, self._blocked_until_s - self._clock())
        return CircuitOpen(self.name, left_s, self._last_cause)

    def _admit_trial(self) -> Permit:
        self.check()
        opened = self._circuit.current_state == pybreaker.STATE_OPEN
        if opened:
            self._half_open_trials += 1
            self._move(self._circuit.half_open)
        trial = self._trial = Permit(self, self._generation)
        self._blocked_until_s = self._clock() + self._trial_timeout_s
        if opened:
            self._publish(CircuitHalfOpened)
        if trial.generation != self._generation:  # who heard of it has decided otherwise
            return self.admit()
        return trial

    def _on_success(self, permit: Permit, at_s: float | None) -> None:
        if permit.generation != self._generation:
            return
        if self.closed:
            self._consecutive_failures = 0
            self._window.record_success(self._clock() if at_s is None else at_s)
        else:
            self._close(by_trial=True)

    def _on_failure(self, permit: Permit, cause: Cause) -> None:
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

    def _on_release(self, permit: Permit) -> None:
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
        self._tell_opened()

    def _tell_opened(self) -> None:
        for tell in self._told:
            tell(self._rejection)

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
