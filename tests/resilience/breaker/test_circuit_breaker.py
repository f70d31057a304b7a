import asyncio
from collections.abc import Callable

import pybreaker
import pytest

from resilience import (
    BreakerSettings,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Trip,
)
from tests.resilience.circuit_scenario import BOOM, BREAK_S, Scenario


def test_a_new_circuit_is_closed_and_knows_no_failure_pt_025() -> None:
    breaker = Scenario().breaker
    assert (breaker.state, breaker.isolated, breaker.last_cause) == ("closed", False, None)


@pytest.mark.parametrize(
    ("successes", "failures", "minimum", "ratio", "state"),
    [
        pytest.param(9, 2, 10, 0.1, "open", id="PT-008"),
        pytest.param(8, 1, 10, 0.1, "closed", id="PT-009"),
        pytest.param(9, 1, 10, 0.1, "open", id="both-limits-met-exactly"),
        pytest.param(93, 7, 100, 0.07, "open", id="ratio-that-binary-cannot-hold"),
        pytest.param(10, 1, 10, 0.1, "closed", id="ratio-below"),
        pytest.param(0, 2, 2, 0.0, "open", id="ratio-zero-needs-one-failure"),
    ],
)
def test_a_circuit_opens_when_throughput_and_failure_ratio_reach_their_limits(
    successes: int, failures: int, minimum: int, ratio: float, state: str
) -> None:
    scenario = Scenario(BreakerSettings(failure_ratio=ratio, minimum_throughput=minimum))
    scenario.fail(failures - 1)
    scenario.succeed(successes)
    scenario.fail()  # only a failure is an occasion to judge
    assert scenario.breaker.state == state


def test_successes_alone_never_open_a_circuit() -> None:
    scenario = Scenario(BreakerSettings(failure_ratio=0.0, minimum_throughput=2))
    scenario.succeed(10)
    assert scenario.breaker.state == "closed"


def test_failures_in_a_row_open_a_circuit_whatever_the_ratio() -> None:
    scenario = Scenario(BreakerSettings(failure_ratio=None, consecutive_failures=3))
    scenario.fail(2)
    scenario.succeed()
    scenario.fail(2)
    assert scenario.breaker.state == "closed"
    scenario.fail()
    assert scenario.breaker.state == "open"


def test_the_failure_that_trips_is_kept_and_announced_once_pt_036() -> None:
    scenario = Scenario()
    scenario.trip()
    assert scenario.breaker.last_cause is BOOM
    assert scenario.events == [CircuitOpened(source="rates", at_s=0, cause=BOOM, break_s=BREAK_S)]


def test_a_failure_that_does_not_trip_is_kept_and_not_announced_pt_037() -> None:
    scenario = Scenario()
    scenario.fail()
    assert (scenario.breaker.state, scenario.breaker.last_cause) == ("closed", BOOM)
    assert scenario.events == []


def test_an_open_circuit_rejects_with_the_time_left_and_the_cause() -> None:
    scenario = Scenario()
    scenario.trip()
    scenario.clock.now_s = 2.0
    rejection = scenario.rejection()
    assert (rejection.source, rejection.retry_after_s, rejection.cause) == ("rates", 3.0, BOOM)


def test_the_first_call_after_the_break_is_a_trial_and_blocks_others_anew_pt_028() -> None:
    scenario = Scenario()
    scenario.half_open()
    assert scenario.breaker.state == "open"  # no timer: it takes a call
    scenario.breaker.admit()
    assert scenario.breaker.state == "half-open"
    assert scenario.rejection().retry_after_s == BREAK_S


def test_a_half_open_circuit_rejects_a_second_call_pt_029() -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.breaker.admit()
    scenario.clock.now_s += 1
    assert scenario.rejection().retry_after_s == BREAK_S - 1
    assert scenario.breaker.state == "half-open"
    assert scenario.count(CircuitHalfOpened) == 1


def test_a_successful_trial_closes_the_circuit_and_empties_the_window_pt_030_pt_014() -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.succeed()
    assert (scenario.breaker.state, scenario.breaker.last_cause) == ("closed", None)
    scenario.fail()
    assert scenario.breaker.state == "closed"
    assert scenario.count(CircuitClosed) == 1


def test_one_failed_trial_reopens_the_circuit_for_a_full_break_pt_031() -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.fail()
    assert scenario.breaker.state == "open"
    assert scenario.rejection().retry_after_s == BREAK_S


def test_a_failed_trial_is_not_counted_in_the_window_pt_013() -> None:
    seen: list[Trip] = []

    def generate(trip: Trip) -> float:
        seen.append(trip)
        return BREAK_S

    scenario = Scenario(
        BreakerSettings(
            failure_ratio=0.5, minimum_throughput=2, sampling_s=60, break_generator=generate
        )
    )
    scenario.half_open()
    scenario.fail()
    assert [trip.failures for trip in seen] == [2, 2]


@pytest.mark.parametrize(
    ("isolated", "state"),
    [pytest.param(True, "open", id="PT-033"), pytest.param(False, "closed", id="PT-034")],
)
def test_a_late_success_changes_neither_an_isolated_nor_a_closed_circuit(
    isolated: bool,
    state: str,
) -> None:
    scenario = Scenario()
    permit = scenario.breaker.admit()
    if isolated:
        scenario.breaker.isolate()
    permit.success()
    assert (scenario.breaker.state, scenario.breaker.isolated) == (state, isolated)


def test_results_of_calls_admitted_before_the_circuit_opened_are_ignored() -> None:
    scenario = Scenario()
    good, bad = scenario.breaker.admit(), scenario.breaker.admit()
    scenario.half_open()
    scenario.breaker.admit()

    good.success()
    assert scenario.breaker.state == "half-open"
    scenario.clock.now_s += 1
    bad.failure(BOOM)
    assert scenario.breaker.state == "half-open"
    assert scenario.rejection().retry_after_s == BREAK_S - 1


def test_a_late_failure_does_not_prolong_a_break() -> None:
    scenario = Scenario()
    late = scenario.breaker.admit()
    scenario.trip()
    scenario.clock.now_s = 4.0
    late.failure(BOOM)
    assert scenario.rejection().retry_after_s == 1.0


def test_a_late_failure_of_before_the_outage_does_not_count_after_it() -> None:
    scenario = Scenario()
    late = scenario.breaker.admit(), scenario.breaker.admit()
    scenario.half_open()
    scenario.succeed()
    for permit in late:
        permit.failure(BOOM)
    assert (scenario.breaker.state, scenario.breaker.last_cause) == ("closed", None)


def test_a_circuit_goes_round_through_all_states_pt_040() -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.fail()
    scenario.clock.now_s += 0.001
    assert scenario.rejection().retry_after_s == pytest.approx(BREAK_S - 0.001)
    scenario.clock.now_s += 2 * BREAK_S
    trial = scenario.breaker.admit()
    assert scenario.breaker.state == "half-open"
    trial.success()
    assert scenario.breaker.state == "closed"


def test_a_break_generator_replaces_the_fixed_break_pt_041() -> None:
    seen: list[Trip] = []

    def generate(trip: Trip) -> float:
        seen.append(trip)
        return 42 * 60.0

    scenario = Scenario(
        BreakerSettings(failure_ratio=0.5, minimum_throughput=2, break_generator=generate)
    )
    scenario.succeed()
    scenario.fail()
    assert seen == [Trip(failure_ratio=0.5, failures=1, half_open_trials=0)]
    assert scenario.rejection().retry_after_s == 42 * 60.0


def test_a_break_generator_hears_how_often_the_circuit_was_half_open_since_it_closed() -> None:
    seen: list[int] = []

    def generate(trip: Trip) -> float:
        seen.append(trip.half_open_trials)
        return BREAK_S

    scenario = Scenario(
        BreakerSettings(failure_ratio=0.5, minimum_throughput=2, break_generator=generate)
    )
    for trials in (4, 2):
        scenario.trip()
        for _ in range(trials):
            scenario.clock.now_s += BREAK_S
            scenario.fail()
        scenario.clock.now_s += BREAK_S
        scenario.succeed()
    assert seen == [0, 1, 2, 3, 4, 0, 1, 2]


def test_a_whole_outage_pt_044_pt_045_pt_047() -> None:
    scenario = Scenario(
        BreakerSettings(failure_ratio=0.5, minimum_throughput=10, sampling_s=10, break_s=1)
    )
    scenario.fail(10)
    assert scenario.count(CircuitOpened) == 1
    assert scenario.rejection().retry_after_s == 1
    scenario.clock.now_s = 0.5
    assert scenario.rejection().retry_after_s == 0.5
    scenario.clock.now_s = 1.0
    scenario.fail()
    scenario.clock.now_s = 2.0
    scenario.succeed()
    counts = [scenario.count(kind) for kind in (CircuitOpened, CircuitHalfOpened, CircuitClosed)]
    assert counts == [2, 2, 1]


def test_a_trial_that_is_given_back_leaves_the_circuit_half_open_for_the_next_call() -> None:
    scenario = Scenario()
    scenario.half_open()
    scenario.breaker.admit().release()
    assert scenario.breaker.state == "half-open"
    scenario.succeed()
    assert scenario.breaker.state == "closed"


def test_a_cancelled_call_counts_as_neither_success_nor_failure() -> None:
    scenario = Scenario(BreakerSettings(failure_ratio=None, consecutive_failures=2))
    scenario.fail()
    with pytest.raises(asyncio.CancelledError), scenario.breaker.admit():
        raise asyncio.CancelledError
    assert scenario.breaker.state == "closed"
    scenario.fail()
    assert scenario.breaker.state == "open"


def test_a_permit_settles_itself_at_the_end_of_its_block() -> None:
    scenario = Scenario()
    with pytest.raises(ConnectionError), scenario.breaker.admit():
        raise BOOM
    with scenario.breaker.admit():
        pass
    with scenario.breaker.admit() as permit:
        permit.release()
    scenario.fail()
    assert scenario.events[-1] == CircuitOpened(source="rates", at_s=0, cause=BOOM, break_s=BREAK_S)


def test_a_permit_cannot_be_settled_twice() -> None:
    permit = Scenario().breaker.admit()
    permit.success()
    with pytest.raises(RuntimeError, match="already settled"):
        permit.failure(BOOM)


def test_pybreaker_listeners_hear_of_changes_and_cannot_break_them() -> None:
    class Broken(pybreaker.CircuitBreakerListener):
        heard: list[str]

        def state_change(self, cb: object, old_state: object, new_state: object) -> None:  # noqa: ARG002
            self.heard.append(getattr(new_state, "name", ""))
            raise ValueError("a broken listener")

    listener = Broken()
    listener.heard = []
    scenario = Scenario()
    scenario.breaker.add_listener(listener)
    scenario.half_open()
    scenario.succeed()
    assert listener.heard == ["open", "half-open", "closed"]
    assert scenario.breaker.state == "closed"


def _raises(_trip: Trip) -> float:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "generate",
    [_raises, lambda _trip: float("nan"), lambda _trip: float("inf"), lambda _trip: -1.0],
    ids=["raises", "nan", "infinite", "negative"],
)
def test_a_break_generator_that_fails_leaves_the_fixed_break_and_is_logged(
    generate: Callable[[Trip], float], caplog: pytest.LogCaptureFixture
) -> None:
    on = Scenario(
        BreakerSettings(
            failure_ratio=None, consecutive_failures=1, break_s=BREAK_S, break_generator=generate
        )
    )
    on.fail()
    opened = [event for event in on.events if isinstance(event, CircuitOpened)]
    assert [event.break_s for event in opened] == [BREAK_S]
    assert "the break generator failed" in caplog.text
