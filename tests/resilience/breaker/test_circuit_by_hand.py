"""What somebody who holds the breaker can do to it: isolate, trip and reset."""

import math
from collections.abc import Callable

import pytest

from resilience import (
    BreakerSettings,
    CircuitBreaker,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Event,
    Subscribers,
)
from tests.resilience.circuit_scenario import BOOM, Scenario
from tests.resilience.clock import HandClock


def test_an_isolated_circuit_rejects_without_an_end_until_it_is_reset_pt_043() -> None:
    scenario = Scenario()
    scenario.breaker.isolate()
    scenario.clock.now_s = 1e9
    rejection = scenario.rejection()
    assert (rejection.retry_after_s, rejection.cause) == (None, None)
    scenario.breaker.reset()
    scenario.succeed()
    assert scenario.breaker.state == "closed"
    assert [type(event) for event in scenario.events] == [CircuitOpened, CircuitClosed]


def test_isolating_an_isolated_circuit_again_is_counted_and_told_once() -> None:
    scenario = Scenario()
    scenario.breaker.isolate()
    scenario.breaker.isolate()
    assert (scenario.breaker.times_opened, scenario.count(CircuitOpened)) == (1, 1)
    scenario.breaker.reset()
    scenario.breaker.isolate()
    assert (scenario.breaker.times_opened, scenario.count(CircuitOpened)) == (2, 2)


@pytest.mark.parametrize(
    ("act", "let_through", "state"),
    [
        (CircuitBreaker.isolate, False, "open"),
        (lambda breaker: breaker.trip(9.0, BOOM), False, "open"),
        (CircuitBreaker.reset, True, "closed"),
    ],
    ids=["isolate", "trip", "reset"],
)
def test_who_hears_that_the_circuit_is_half_open_may_decide_the_trials_fate(
    act: Callable[[CircuitBreaker], None], *, let_through: bool, state: str
) -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.subscribers.add(lambda _: act(scenario.breaker), [CircuitHalfOpened])
    if let_through:
        scenario.breaker.admit().success()
    else:
        scenario.rejection()
    assert scenario.breaker.state == state
    assert scenario.breaker.isolated == (act is CircuitBreaker.isolate)


def test_a_handler_may_act_on_the_breaker_that_tells_it() -> None:
    subscribers = Subscribers()
    breaker = CircuitBreaker(
        BreakerSettings(failure_ratio=None, consecutive_failures=1),
        name="rates",
        clock=HandClock(),
        subscribers=subscribers,
    )
    states: list[str] = []

    def close_again(event: Event) -> None:
        states.append(breaker.state)
        if isinstance(event, CircuitOpened):
            breaker.reset()

    subscribers.add(close_again)
    breaker.admit().failure(BOOM)
    assert states == ["open", "closed"]
    assert breaker.state == "closed"


def test_a_circuit_tripped_from_elsewhere_opens_for_as_long_and_no_event_is_repeated() -> None:
    scenario = Scenario()
    scenario.breaker.trip(3.0, BOOM)
    scenario.breaker.trip(2.0, BOOM)  # shorter: nothing new
    assert (scenario.breaker.state, scenario.count(CircuitOpened)) == ("open", 1)
    rejection = scenario.rejection()
    assert (rejection.retry_after_s, rejection.cause) == (3.0, BOOM)
    scenario.breaker.trip(4.0, BOOM)
    assert scenario.rejection().retry_after_s == 4.0
    assert (scenario.count(CircuitOpened), scenario.breaker.times_opened) == (1, 1)
    scenario.clock.now_s += 4
    scenario.breaker.admit().success()
    assert scenario.breaker.state == "closed"


def test_a_trial_under_way_is_overruled_by_a_trip_from_elsewhere() -> None:
    scenario = Scenario()
    scenario.half_open()
    trial = scenario.breaker.admit()
    scenario.breaker.trip(3.0, BOOM)
    trial.success()
    assert scenario.breaker.state == "open"


def test_an_isolated_circuit_is_not_tripped() -> None:
    scenario = Scenario()
    scenario.breaker.isolate()
    scenario.breaker.trip(3.0, BOOM)
    assert scenario.rejection().retry_after_s is None


@pytest.mark.parametrize("break_s", [math.nan, math.inf, -1.0])
def test_a_break_that_is_no_time_is_refused_and_changes_nothing(break_s: float) -> None:
    breaker = CircuitBreaker(BreakerSettings(), name="rates", clock=lambda: 0.0)
    with pytest.raises(ValueError, match=r"break_s must be in 0\.\.86400, got .*isolate\(\)"):
        breaker.trip(break_s, 503)
    assert breaker.state == "closed"
