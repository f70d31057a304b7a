"""What a circuit does to calls that wait for their retries."""

import asyncio
from collections.abc import Callable

import httpx
import pytest

from resilience import (
    BreakerSettings,
    CallRejected,
    CircuitBreaker,
    CircuitOpen,
    CircuitOpened,
    GaveUp,
    GaveUpReason,
    Policies,
    RetryScheduled,
    RetrySettings,
    SourceStatistics,
)
from resilience.retry.layer import RetryWaits
from tests.resilience.retry_scenario import (
    AFTER_30_S,
    ONE_FAILURE,
    TWO_IN_A_ROW,
    asleep,
    breaker_of,
    told_with,
)
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock


def now_s() -> float:
    return asyncio.get_running_loop().time()


class Late(Script):
    """Plays its steps, each after ten seconds."""

    async def __call__(self) -> httpx.Response:
        """Wait, then play the next step."""
        await asyncio.sleep(10)
        return await super().__call__()


def assert_identities_hold(counted: SourceStatistics) -> None:
    assert counted.requests == counted.ok + counted.failed + counted.in_flight
    assert counted.retries == (
        counted.attempts + counted.rejects + counted.waiting - counted.requests - counted.hedges
    )


@pytest.mark.parametrize("first", [503, response(503, {"retry-after": "25"})])
async def test_a_call_whose_failure_opens_the_circuit_is_told_so_at_once(
    first: int | httpx.Response,
) -> None:
    told = told_with(ONE_FAILURE)
    script = Script(first)
    with pytest.raises(CircuitOpen) as raised:
        await told.run(script)
    assert (now_s(), script.requests, raised.value.retry_after_s) == (0, 1, 60)
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [0.0]
    assert [event.attempt for event in told.heard(CallRejected)] == [2]
    counted = told.pipeline.statistics()
    assert (counted.attempts, counted.retries, counted.circuit_rejects) == (1, 1, 1)
    assert_identities_hold(counted)


@pytest.mark.parametrize(
    ("open_it", "retry_after_s"),
    [
        pytest.param(lambda breaker: breaker.admit().failure(500), 60, id="failure"),
        pytest.param(lambda breaker: breaker.trip(29.5, 500), 29.5, id="trip"),
        pytest.param(CircuitBreaker.isolate, None, id="isolate"),
    ],
)
async def test_a_circuit_that_opens_beyond_the_end_of_a_wait_ends_it_at_once(
    open_it: Callable[[CircuitBreaker], None], retry_after_s: float | None
) -> None:
    told = told_with(TWO_IN_A_ROW)
    script = Script(500)
    sleeper = await asleep(told, script)
    open_it(breaker_of(told))
    with pytest.raises(CircuitOpen) as raised:
        await sleeper
    assert (now_s(), script.requests, raised.value.retry_after_s) == (1, 1, retry_after_s)
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [30]
    assert len(told.heard(CallRejected)) == told.pipeline.statistics().circuit_rejects == 1
    assert_identities_hold(told.pipeline.statistics())


@pytest.mark.parametrize("break_s", [5, 29])
async def test_a_wait_that_ends_after_the_break_is_kept_and_its_retry_is_the_trial(
    break_s: float,
) -> None:
    told = told_with(TWO_IN_A_ROW)
    script = Script(500, 200)
    sleeper = await asleep(told, script)
    breaker_of(told).trip(break_s, 500)
    assert (await sleeper).status_code == 200
    assert script.sent_at_s == [0, 30]
    assert breaker_of(told).state == "closed"


async def test_the_wait_of_the_call_that_opened_the_circuit_may_outlast_the_break() -> None:
    told = told_with(BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=20))
    script = Script(500, 200)
    assert (await told.run(script)).status_code == 200
    assert script.sent_at_s == [0, 30]
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [30]


async def test_a_break_that_is_prolonged_beyond_the_end_of_a_wait_ends_it() -> None:
    told = told_with(TWO_IN_A_ROW)
    sleeper = await asleep(told, Script(500))
    breaker_of(told).trip(5, 500)
    await asyncio.sleep(1)
    breaker_of(told).trip(40, 500)
    with pytest.raises(CircuitOpen):
        await sleeper
    assert now_s() == 2


async def test_a_trial_that_fails_ends_the_waits_that_the_new_break_outlasts() -> None:
    told = told_with(TWO_IN_A_ROW)
    sleeper = await asleep(told, Script(500))
    breaker_of(told).trip(5, 500)
    await asyncio.sleep(6)
    trial = breaker_of(told).admit()
    await asyncio.sleep(1)
    assert not sleeper.done()  # the trial may do well
    trial.failure(500)
    with pytest.raises(CircuitOpen):
        await sleeper
    assert now_s() == 8


async def test_a_call_that_fails_while_a_trial_is_under_way_waits_for_its_retry() -> None:
    """The trial may do well long before `trial_timeout_s`, so no rejection is certain."""
    told = told_with(TWO_IN_A_ROW)
    late = asyncio.create_task(told.pipeline.run(Late(500, 200)))
    await asyncio.sleep(1)
    breaker_of(told).trip(5, 500)
    await asyncio.sleep(6)
    trial = breaker_of(told).admit()
    await asyncio.sleep(5)
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [30]
    trial.success()
    assert (await late).status_code == 200


async def test_a_circuit_that_opens_and_is_reset_at_once_wakes_nobody_early() -> None:
    told = told_with(TWO_IN_A_ROW)
    script = Script(response(503, {"retry-after": "25"}), 200)
    sleeper = await asleep(told, script)
    breaker_of(told).isolate()
    breaker_of(told).reset()
    assert (await sleeper).status_code == 200
    assert script.sent_at_s == [0, 25]


async def test_a_reset_by_who_hears_of_the_opening_keeps_the_wait_as_it_was() -> None:
    told = told_with(ONE_FAILURE)
    told.subscribers.add(lambda _: breaker_of(told).reset(), [CircuitOpened])
    script = Script(500, 200)
    assert (await told.run(script)).status_code == 200
    assert script.sent_at_s == [0, 30]


async def test_all_who_wait_are_told_each_by_the_end_of_its_own_wait() -> None:
    told = told_with(BreakerSettings(failure_ratio=None, consecutive_failures=4, break_s=20))
    impatient = Script(response(503, {"retry-after": "10"}))
    patient = Script(response(503, {"retry-after": "40"}), 200)
    calls = [asyncio.create_task(told.run(each)) for each in (impatient, impatient, patient)]
    await asyncio.sleep(1)
    breaker_of(told).admit().failure(500)
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(end, CircuitOpen) for end in ends] == [True, True, False]
    assert [event.at_s for event in told.heard(CallRejected)] == [1, 1]
    assert patient.sent_at_s == [0, 40]
    assert_identities_hold(told.pipeline.statistics())


async def test_what_ends_a_call_anyway_ends_it_with_its_own_failure_not_with_a_rejection() -> None:
    retry = RetrySettings(max_retries=2, base_delay_s=30, jitter=False, max_retry_after_s=60)
    told = told_with(ONE_FAILURE, retry)
    left = await told.run(Script(response(503, {"retry-after": "61"})))
    assert left.status_code == 503
    assert [event.reason for event in told.heard(GaveUp)] == [GaveUpReason.RETRY_AFTER_TOO_LONG]
    assert told.heard(CallRejected) == []


async def test_calls_with_retries_of_their_own_are_woken_as_well() -> None:
    told = told_with(TWO_IN_A_ROW)
    own = RetrySettings(max_retries=1, base_delay_s=50, jitter=False)
    sleeper = asyncio.create_task(told.pipeline.run(Script(500), overrides={"retry": own}))
    await asyncio.sleep(1)
    breaker_of(told).isolate()
    with pytest.raises(CircuitOpen):
        await sleeper
    assert now_s() == 1


async def test_a_source_without_a_breaker_sleeps_every_wait_to_its_end() -> None:
    script = Script(response(503, {"retry-after": "25"}), 200)
    await Told(Policies(retry=AFTER_30_S)).run(script)
    assert script.sent_at_s == [0, 25]


async def test_nobody_is_left_among_the_sleepers_however_a_wait_ends() -> None:
    breaker = CircuitBreaker(TWO_IN_A_ROW, name="rates")
    waits = RetryWaits(breaker)
    sleepers = [asyncio.create_task(waits.sleep_until(due_s)) for due_s in (5, 30, 70, 80)]
    await asyncio.sleep(0)
    assert waits.asleep == 4
    await asyncio.sleep(6)
    breaker.trip(60, 500)
    sleepers[3].cancel()
    await asyncio.wait(sleepers[:2] + sleepers[3:])
    assert (now_s(), waits.asleep) == (6, 1)
    await sleepers[2]
    assert (now_s(), waits.asleep) == (70, 0)
