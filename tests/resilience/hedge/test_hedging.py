import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimeout,
    BreakerSettings,
    CallEnded,
    CallStarted,
    HedgeEnded,
    HedgeResult,
    HedgeSettings,
    HedgeStarted,
    Policies,
    RetrySettings,
    TotalTimeout,
)
from resilience.testing import VirtualClockLoop
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock

AFTER_100_MS = Policies(hedge=HedgeSettings(delay_s=0.1))


def now_s() -> float:
    return asyncio.get_running_loop().time()


def results(told: Told) -> list[HedgeResult]:
    return [event.result for event in told.heard(HedgeEnded)]


async def test_an_attempt_that_is_answered_in_time_gets_no_company() -> None:
    told, script = Told(AFTER_100_MS), Script(0.09)
    assert (await told.run(script)).status_code == 200
    await asyncio.sleep(1)
    assert script.requests == 1
    assert [type(event) for event in told.events] == [
        CallStarted,
        AttemptStarted,
        AttemptSucceeded,
        CallEnded,
    ]


async def test_a_hedge_that_answers_first_wins_and_the_first_attempt_is_cancelled() -> None:
    told, script = Told(AFTER_100_MS), Script(9.0, 0.05)
    assert (await told.run(script)).status_code == 200
    assert script.sent_at_s == pytest.approx([0, 0.1])
    assert now_s() == pytest.approx(0.15)
    assert [type(event) for event in told.events] == [
        CallStarted,
        AttemptStarted,
        HedgeStarted,
        AttemptStarted,
        AttemptSucceeded,
        AttemptCancelled,
        HedgeEnded,
        CallEnded,
    ]
    (started,), (ended,) = told.heard(HedgeStarted), told.heard(HedgeEnded)
    assert (started.source, started.attempt, started.hedge) == ("rates", 1, 1)
    assert (ended.hedge, ended.result) == (1, HedgeResult.WON)


async def test_a_first_attempt_that_answers_after_all_wins_and_the_hedge_is_cancelled() -> None:
    told = Told(AFTER_100_MS)
    await told.run(Script(0.15, 9.0))
    assert now_s() == pytest.approx(0.15)
    assert results(told) == [HedgeResult.CANCELLED]
    assert len(told.heard(AttemptCancelled)) == 1


@pytest.mark.parametrize("method", ["POST", "PATCH", "CONNECT", "PUT", "DELETE", "PURGE"])
async def test_a_method_that_may_act_is_not_hedged(method: str) -> None:
    script = Script(1.0)
    await Told(AFTER_100_MS).run(script, method)
    assert script.requests == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
async def test_a_method_that_only_asks_is_hedged(method: str) -> None:
    script = Script(1.0)
    await Told(AFTER_100_MS).run(script, method)
    assert script.requests == 2


@pytest.mark.parametrize(("method", "requests"), [("PUT", 2), ("GET", 1)])
async def test_the_settings_may_name_other_methods_instead(method: str, requests: int) -> None:
    script = Script(1.0)
    await Told(Policies(hedge=HedgeSettings(delay_s=0.1, methods={"PUT"}))).run(script, method)
    assert script.requests == requests


async def test_an_idempotency_key_allows_a_repetition_but_no_copy_beside_the_first() -> None:
    """Servers answer such a copy with 409, as the IETF draft on the header asks, and it wins."""
    under_way = 0

    async def order() -> httpx.Response:
        nonlocal under_way
        if under_way:
            return response(409)
        under_way += 1
        await asyncio.sleep(0.3)
        under_way -= 1
        return response(next(statuses))

    statuses = iter([500, 201])
    retry = RetrySettings(max_retries=1, base_delay_s=0)
    pipeline = Told(replace(AFTER_100_MS, retry=retry)).pipeline
    answer = await pipeline.run(order, method="POST", idempotency_key=True)
    assert (answer.status_code, pipeline.statistics().attempts) == (201, 2)


async def test_a_first_attempt_that_fails_early_is_left_to_the_retries() -> None:
    told, script = Told(AFTER_100_MS), Script(503)
    assert (await told.run(script)).status_code == 503
    await asyncio.sleep(1)
    assert (script.requests, told.heard(HedgeStarted)) == (1, [])


def fails_after(delay_s: float, outcome: int | Exception) -> Callable[[], Any]:
    async def step() -> httpx.Response:
        await asyncio.sleep(delay_s)
        if isinstance(outcome, Exception):
            raise outcome
        return response(outcome)

    return step


class Steps:
    """Runs one coroutine function a request, in turn."""

    def __init__(self, *steps: Callable[[], Any]) -> None:
        self.steps = iter(steps)
        self.running = 0

    async def __call__(self) -> httpx.Response:
        """Run the next one."""
        step = next(self.steps)
        self.running += 1
        try:
            answer = await step()
        finally:
            self.running -= 1
        assert isinstance(answer, httpx.Response)
        return answer


RESET = httpx.ReadError("reset")


@pytest.mark.parametrize(
    ("first", "hedge", "status", "ended_at_s", "result"),
    [
        pytest.param((0.2, 503), (0.3, 200), 200, 0.4, HedgeResult.WON, id="failed-first"),
        pytest.param((0.2, RESET), (0.3, 200), 200, 0.4, HedgeResult.WON, id="first-lost"),
        pytest.param((0.3, 200), (0.1, 500), 200, 0.3, HedgeResult.FAILED, id="failed-hedge"),
        pytest.param((0.3, 404), (0.1, RESET), 404, 0.3, HedgeResult.FAILED, id="404-is-good"),
        pytest.param((0.2, 503), (0.3, 500), 503, 0.4, HedgeResult.FAILED, id="both-failed"),
        pytest.param((0.4, 503), (0.1, 500), 503, 0.4, HedgeResult.FAILED, id="hedge-failed-first"),
    ],
)
async def test_who_fails_leaves_the_race_to_the_other(
    first: tuple[float, int | Exception],
    hedge: tuple[float, int | Exception],
    status: int,
    ended_at_s: float,
    result: HedgeResult,
) -> None:
    told = Told(AFTER_100_MS)
    answer = await told.pipeline.run(Steps(fails_after(*first), fails_after(*hedge)))
    assert (answer.status_code, results(told)) == (status, [result])
    assert now_s() == pytest.approx(ended_at_s)


async def test_when_all_fail_the_first_attempts_error_is_raised() -> None:
    with pytest.raises(httpx.ReadError, match="reset"):
        await Told(AFTER_100_MS).pipeline.run(Steps(fails_after(0.2, RESET), fails_after(0.3, 500)))


@pytest.mark.parametrize("error", [ValueError("a bug"), httpx.UnsupportedProtocol("ftp")])
async def test_an_error_that_no_attempt_can_cure_ends_the_race_at_once(error: Exception) -> None:
    told, steps = Told(AFTER_100_MS), Steps(fails_after(0.2, error), fails_after(9.0, 200))
    with pytest.raises(type(error)):
        await told.pipeline.run(steps)
    assert now_s() == pytest.approx(0.2)
    assert steps.running == 0
    assert results(told) == [HedgeResult.CANCELLED]


async def test_several_hedges_come_one_delay_after_the_other() -> None:
    told = Told(Policies(hedge=HedgeSettings(delay_s=0.1, max_hedges=3)))
    script = Script(9.0, 9.0, 0.05, 9.0)
    await told.run(script)
    assert script.sent_at_s == pytest.approx([0, 0.1, 0.2])
    assert results(told) == [HedgeResult.CANCELLED, HedgeResult.WON]


async def test_a_caller_who_leaves_takes_every_attempt_along() -> None:
    told, steps = Told(AFTER_100_MS), Steps(fails_after(9.0, 200), fails_after(9.0, 200))
    call = asyncio.create_task(told.pipeline.run(steps))
    await asyncio.sleep(0.2)
    assert steps.running == 2
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert steps.running == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert results(told) == [HedgeResult.CANCELLED]
    assert len(told.heard(AttemptCancelled)) == 2


async def test_a_caller_who_leaves_before_the_hedge_is_due_starts_none() -> None:
    async def reluctant() -> httpx.Response:
        try:
            await asyncio.sleep(9)
        finally:
            await asyncio.sleep(0.2)  # closing takes longer than the delay
        return response(200)

    told = Told(AFTER_100_MS)
    call = asyncio.create_task(told.pipeline.run(Steps(reluctant)))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert told.heard(HedgeStarted) == []


async def test_a_loser_is_waited_for_however_impatient_the_caller_is() -> None:
    closed_at_s = []

    async def slow_to_close() -> httpx.Response:
        try:
            await asyncio.sleep(9)
        finally:
            await asyncio.sleep(0.5)
            closed_at_s.append(now_s())
        return response(200)

    told = Told(AFTER_100_MS)
    call = asyncio.create_task(told.pipeline.run(Steps(fails_after(0.2, 200), slow_to_close)))
    await asyncio.sleep(0.3)
    for _ in range(2):
        call.cancel()
        await asyncio.sleep(0.05)
    with pytest.raises(asyncio.CancelledError):
        await call
    assert closed_at_s == [pytest.approx(0.7)]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_winning_leaves_the_callers_task_uncancelled() -> None:
    task = asyncio.current_task()
    assert task is not None
    await Told(AFTER_100_MS).run(Script(9.0, 0.05))
    assert task.cancelling() == 0
    async with asyncio.timeout(1):
        await asyncio.sleep(0.5)


async def test_each_attempt_has_its_own_limit_and_the_whole_call_one() -> None:
    script = Script(9.0)
    with pytest.raises(AttemptTimeout):
        await Told(Policies(hedge=HedgeSettings(delay_s=0.1), attempt_timeout_s=0.3)).run(script)
    assert now_s() == pytest.approx(0.4)  # the hedge's limit began with the hedge
    with pytest.raises(TotalTimeout):
        await Told(Policies(hedge=HedgeSettings(delay_s=0.1), total_timeout_s=0.3)).run(script)
    assert now_s() == pytest.approx(0.7)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_each_retry_may_be_hedged_again() -> None:
    told = Told(
        Policies(
            retry=RetrySettings(max_retries=1, base_delay_s=0, jitter=False),
            hedge=HedgeSettings(delay_s=0.1),
        )
    )
    steps = Steps(
        fails_after(0.2, 500), fails_after(0.2, 500), fails_after(9, 200), fails_after(0, 200)
    )
    assert (await told.pipeline.run(steps)).status_code == 200
    assert [(event.attempt, event.hedge) for event in told.heard(HedgeStarted)] == [(1, 1), (2, 1)]


async def test_a_hedge_passes_the_breaker_and_a_cancelled_loser_is_neutral_to_it() -> None:
    told = Told(
        Policies(
            hedge=HedgeSettings(delay_s=0.1),
            breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1),
        )
    )
    breaker = told.pipeline.breaker
    assert breaker is not None
    await told.run(Script(9.0, 0.05))
    assert breaker.state == "closed"
    await told.run(Script(500))
    await asyncio.sleep(5)
    script = Script(0.3)
    await told.run(script)  # the trial; its hedge is refused and the trial decides
    assert (script.requests, breaker.state) == (1, "closed")
    assert results(told)[-1] is HedgeResult.FAILED


STEP: st.SearchStrategy[tuple[float, int | Exception]] = st.tuples(
    st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.35]), st.sampled_from([200, 404, 503, RESET])
)


@settings(deadline=None)
@given(
    st.lists(STEP, min_size=4, max_size=4),
    st.integers(1, 3),
    st.sampled_from([None, 0.05, 0.1, 0.15, 0.25, 0.4]),
    st.sampled_from([None, 0.1, 0.2, 0.35]),
)
def test_whatever_happens_nothing_leaks_and_every_hedge_is_accounted_for(
    steps: list[tuple[float, int | Exception]],
    max_hedges: int,
    cancel_at_s: float | None,
    total_s: float | None,
) -> None:
    async def scenario() -> None:
        told = Told(
            Policies(
                total_timeout_s=total_s, hedge=HedgeSettings(delay_s=0.1, max_hedges=max_hedges)
            )
        )
        played = Steps(*(fails_after(*step) for step in steps))
        call = asyncio.create_task(told.pipeline.run(played))
        if cancel_at_s is not None:
            await asyncio.sleep(cancel_at_s)
            call.cancel()
        (outcome,) = await asyncio.gather(call, return_exceptions=True)

        good = [event.status for event in told.heard(AttemptSucceeded)]
        if isinstance(outcome, httpx.Response) and outcome.status_code < 500:
            assert outcome.status_code in good
        assert played.running == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert len(told.heard(HedgeStarted)) == len(told.heard(HedgeEnded)) <= max_hedges
        assert results(told).count(HedgeResult.WON) <= 1
        counts = told.pipeline.statistics()
        assert counts.hedges == len(told.heard(HedgeStarted))
        assert counts.retries == counts.attempts + counts.rejects - counts.requests - counts.hedges
        ended = (AttemptSucceeded, AttemptFailed, AttemptCancelled)
        assert len(told.heard(AttemptStarted)) == sum(len(told.heard(kind)) for kind in ended)
        if isinstance(outcome, Exception) or (
            isinstance(outcome, httpx.Response) and outcome.status_code >= 500
        ):
            assert total_s is not None or not good

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(scenario())


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"delay_s": -1}, "delay_s must be in 0..86400, got -1"),
        ({"percentile": 0.95}, "percentile must be in 50..99, got 0.95; 95 is usual"),
        ({"min_delay_s": -1}, "min_delay_s"),
        ({"max_hedges": 0}, "use hedge=None for none"),
    ],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=r".+") as raised:
        HedgeSettings(**wrong)
    assert complaint in str(raised.value)
