"""What an open circuit means for the budget of retries."""

import asyncio

import pytest

from resilience import (
    AttemptStarted,
    CallRejected,
    CircuitOpen,
    GaveUp,
    RetryBudget,
    RetryScheduled,
    RetrySettings,
)
from tests.resilience.retry_scenario import ONE_FAILURE, TWO_IN_A_ROW, asleep, breaker_of, told_with
from tests.resilience.script import Script, Told

pytestmark = pytest.mark.virtual_clock

ONE_RETRY = RetryBudget(ratio=0, min_per_s=0.1, window_s=10)
BUDGETED = RetrySettings(max_retries=2, base_delay_s=30, jitter=False, budget=ONE_RETRY)


async def still_bears_one(told: Told) -> bool:
    """Tell whether the budget of one retry is whole."""
    breaker_of(told).reset()
    script = Script(500, 200)
    await told.run(script)
    return script.requests == 2


async def test_a_retry_that_is_rejected_at_once_costs_the_budget_nothing() -> None:
    told = told_with(TWO_IN_A_ROW, BUDGETED)
    for _ in range(3):
        breaker_of(told).reset()
        breaker_of(told).admit().failure(500)
        with pytest.raises(CircuitOpen):
            await told.run(Script(500))
    assert told.pipeline.statistics().retries_suppressed == 0
    assert await still_bears_one(told)


async def test_an_empty_budget_does_not_hide_the_rejection_of_an_open_circuit() -> None:
    nothing = RetryBudget(ratio=0, min_per_s=0)
    told = told_with(ONE_FAILURE, RetrySettings(base_delay_s=30, jitter=False, budget=nothing))
    with pytest.raises(CircuitOpen):
        await told.run(Script(500))
    assert told.heard(GaveUp) == []


async def test_a_retry_that_is_woken_to_be_rejected_gives_its_grant_back() -> None:
    told = told_with(TWO_IN_A_ROW, BUDGETED)
    sleeper = await asleep(told, Script(500))
    breaker_of(told).isolate()
    with pytest.raises(CircuitOpen):
        await sleeper
    assert await still_bears_one(told)


async def test_a_retry_that_the_circuit_lets_pass_after_all_counts_in_the_budget() -> None:
    told = told_with(TWO_IN_A_ROW, BUDGETED)
    breaker_of(told).admit().failure(500)
    told.subscribers.add(lambda _: breaker_of(told).reset(), [RetryScheduled])
    script = Script(500, 200)
    assert (await told.run(script)).status_code == 200
    assert not await still_bears_one(told)


async def test_a_call_cancelled_as_the_circuit_opens_leaves_no_wait_and_no_grant_behind() -> None:
    told = told_with(TWO_IN_A_ROW, BUDGETED)
    script = Script(500)
    sleeper = await asleep(told, script)
    breaker_of(told).isolate()
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper
    assert script.requests == len(told.heard(AttemptStarted)) == 1
    assert told.heard(CallRejected) == []
    assert await still_bears_one(told)
