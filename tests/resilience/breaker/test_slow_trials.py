"""Trials that are not settled within `trial_timeout_s`: others run beside them, and all count."""

import asyncio
from collections.abc import Callable

import pytest

from resilience import (
    BreakerSettings,
    CircuitBreaker,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpen,
    CircuitOpened,
    Permit,
    Policies,
    Trip,
)
from tests.resilience.circuit_scenario import BOOM, BREAK_S, Scenario
from tests.resilience.script import Script, Told

TRIAL_TIMEOUT_S = 1.0
RULES = BreakerSettings(
    failure_ratio=0.5, minimum_throughput=2, break_s=BREAK_S, trial_timeout_s=TRIAL_TIMEOUT_S
)


class SlowTrials(Scenario):
    """A circuit whose trials outlive `trial_timeout_s`."""

    def __init__(self, settings: BreakerSettings = RULES) -> None:
        super().__init__(settings)

    def trials(self, number: int) -> list[Permit]:
        """Return so many trials that are under way together, the first of them the oldest."""
        admitted = [self.breaker.admit()]
        for _ in range(number - 1):
            self.clock.now_s += TRIAL_TIMEOUT_S
            admitted.append(self.breaker.admit())
        return admitted


def with_trials(number: int) -> tuple[SlowTrials, list[Permit]]:
    """Return a circuit and so many trials of its first half-open period."""
    scenario = SlowTrials()
    scenario.half_open()
    return scenario, scenario.trials(number)


@pytest.mark.parametrize("first_to_answer", [0, 1, 2])
def test_the_first_success_of_any_trial_of_the_period_closes_the_circuit(
    first_to_answer: int,
) -> None:
    scenario, trials = with_trials(3)
    trials.pop(first_to_answer).success()
    assert (scenario.breaker.state, scenario.count(CircuitClosed)) == ("closed", 1)
    for late in trials:
        late.failure(BOOM)
    assert (scenario.breaker.state, scenario.breaker.last_cause) == ("closed", None)


@pytest.mark.parametrize("first_to_fail", [0, 1, 2])
def test_the_first_failure_of_any_trial_of_the_period_opens_it_and_the_others_do_not_count(
    first_to_fail: int,
) -> None:
    scenario, trials = with_trials(3)
    trials.pop(first_to_fail).failure(BOOM)
    assert (scenario.breaker.state, scenario.breaker.times_opened) == ("open", 2)
    scenario.clock.now_s += 1
    for late in trials:
        late.failure(BOOM)
    assert (scenario.breaker.state, scenario.breaker.times_opened) == ("open", 2)
    assert scenario.rejection().retry_after_s == BREAK_S - 1


def test_a_late_success_of_an_earlier_period_does_not_close_the_circuit() -> None:
    """A trial that was sent after it has failed, and that is the newer word on the source."""
    scenario, (slow, failed) = with_trials(2)
    failed.failure(BOOM)
    scenario.clock.now_s += BREAK_S
    scenario.breaker.admit()
    slow.success()
    assert scenario.breaker.state == "half-open"


def test_a_slow_trial_that_is_given_back_leaves_the_latest_its_time() -> None:
    scenario, (slow, latest) = with_trials(2)
    slow.release()
    assert scenario.rejection().retry_after_s == TRIAL_TIMEOUT_S
    latest.release()
    scenario.succeed()
    assert scenario.breaker.state == "closed"


@pytest.mark.parametrize(
    ("act", "state"),
    [
        (CircuitBreaker.isolate, "open"),
        (lambda breaker: breaker.trip(9.0, BOOM), "open"),
        (CircuitBreaker.reset, "closed"),
    ],
    ids=["isolate", "trip", "reset"],
)
@pytest.mark.parametrize("late_result", [Permit.success, lambda trial: trial.failure(BOOM)])
def test_what_is_decided_by_hand_is_not_undone_by_a_trial_that_was_under_way(
    act: Callable[[CircuitBreaker], None], state: str, late_result: Callable[[Permit], None]
) -> None:
    scenario, trials = with_trials(2)
    act(scenario.breaker)
    for late in trials:
        late_result(late)
    assert scenario.breaker.state == state


def test_a_growing_break_grows_once_per_period_also_by_trials_that_fail_too_late() -> None:
    seen: list[int] = []

    def grow(trip: Trip) -> float:
        seen.append(trip.half_open_trials)
        return BREAK_S * 2.0**trip.half_open_trials

    scenario = SlowTrials(
        BreakerSettings(
            failure_ratio=None,
            consecutive_failures=1,
            break_s=BREAK_S,
            trial_timeout_s=TRIAL_TIMEOUT_S,
            break_generator=grow,
        )
    )
    scenario.fail()
    for period in range(3):
        scenario.clock.now_s += BREAK_S * 2**period
        slow, slow_too, _hangs = scenario.trials(3)
        slow.failure(BOOM)
        slow_too.failure(BOOM)
    assert seen == [0, 1, 2, 3]
    assert scenario.rejection().retry_after_s == BREAK_S * 8


@pytest.mark.virtual_clock
async def test_a_source_slower_than_the_trial_time_out_closes_its_circuit_by_its_first_answer() -> (
    None
):
    """An hour of calls, two per second; every answer takes 8 s and is good."""
    told = Told(Policies(breaker=BreakerSettings(break_s=5.0)))
    breaker = told.pipeline.breaker
    assert breaker is not None
    breaker.trip(5.0, BOOM)
    script = Script(8.0)
    calls = []
    for _ in range(7_200):
        calls.append(asyncio.create_task(told.run(script)))
        await asyncio.sleep(0.5)
    ends = await asyncio.gather(*calls, return_exceptions=True)

    (closed,) = told.heard(CircuitClosed)
    assert closed.at_s == 5.0 + 8.0
    rejected = sum(isinstance(end, CircuitOpen) for end in ends)
    assert rejected == 26 - 2  # two per second until it closes, without the two trials
    assert len(ends) - rejected == script.requests
    assert [len(told.heard(kind)) for kind in (CircuitOpened, CircuitHalfOpened)] == [1, 1]
