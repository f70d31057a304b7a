# ruff: noqa: D102 - a rule's name is what happens
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from resilience import (
    BreakerSettings,
    CircuitBreaker,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpen,
    CircuitOpened,
    Event,
    Permit,
    Subscribers,
)
from tests.resilience.clock import HandClock

BREAK_S = 5.0
TRIAL_TIMEOUT_S = 2.0


class BreakerUnderAnyInterleaving(RuleBasedStateMachine):
    """Calls begin, end in any order and any way, and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.opened_at_s: float | None = None
        self.trials: dict[Permit, float] = {}
        self.in_flight: list[Permit] = []
        self.changes = ["closed"]
        subscribers = Subscribers()
        subscribers.add(self.on_event)
        self.breaker = CircuitBreaker(
            BreakerSettings(
                failure_ratio=0.5,
                minimum_throughput=4,
                sampling_s=10,
                break_s=BREAK_S,
                consecutive_failures=3,
                trial_timeout_s=TRIAL_TIMEOUT_S,
            ),
            name="any",
            clock=self.clock,
            subscribers=subscribers,
        )

    def on_event(self, event: Event) -> None:
        self.trials.clear()
        if isinstance(event, CircuitOpened):
            self.opened_at_s = event.at_s
            self.changes.append("open")
        elif isinstance(event, CircuitHalfOpened):
            self.changes.append("half-open")
        elif isinstance(event, CircuitClosed):
            self.changes.append("closed")

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.5, 5.0, 11.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now_s += seconds

    @rule()
    def a_call_begins(self) -> None:
        state, now_s = self.breaker.state, self.clock.now_s
        rejection = permit = None
        try:
            permit = self.breaker.admit()
        except CircuitOpen as error:
            rejection = error
        if permit is None:
            assert state != "closed"
            assert rejection is not None
            assert rejection.retry_after_s is not None
            assert 0 < rejection.retry_after_s <= max(BREAK_S, TRIAL_TIMEOUT_S)
            return
        if state == "open":
            assert self.opened_at_s is not None
            assert now_s >= self.opened_at_s + BREAK_S
        if self.breaker.state == "half-open":
            running = [at_s for at_s in self.trials.values() if now_s < at_s + TRIAL_TIMEOUT_S]
            assert running == []
            self.trials[permit] = now_s
        self.in_flight.append(permit)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), how=st.sampled_from(["success", "failure", "release"]))
    def a_call_ends(self, data: st.DataObject, how: str) -> None:
        permit = self.in_flight.pop(data.draw(st.integers(0, len(self.in_flight) - 1)))
        before, is_trial = self.breaker.state, permit in self.trials
        self.trials.pop(permit, None)
        if how == "failure":
            permit.failure(503)
        elif how == "success":
            permit.success()
        else:
            permit.release()
        self.check_end(before, how, is_trial=is_trial)

    def check_end(self, before: str, how: str, *, is_trial: bool) -> None:
        after = self.breaker.state
        if is_trial:
            wanted = {"success": "closed", "failure": "open", "release": "half-open"}
            assert after == wanted[how]
        elif before == "closed":
            assert after == "closed" or how == "failure"
        else:
            assert after == before

    @invariant()
    def state_changes_follow_the_cycle(self) -> None:
        legal = {("closed", "open"), ("open", "half-open"), ("half-open", "open")}
        legal.add(("half-open", "closed"))
        assert set(zip(self.changes, self.changes[1:], strict=False)) <= legal
        assert self.changes[-1] == self.breaker.state


BreakerUnderAnyInterleaving.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
test_the_breaker_keeps_its_promises_under_any_interleaving = BreakerUnderAnyInterleaving.TestCase
