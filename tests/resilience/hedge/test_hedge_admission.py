"""Hedges of attempts that have to wait for a slot or a token before they are sent."""

import asyncio
from dataclasses import replace
from random import Random

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import (
    AttemptStarted,
    BulkheadSettings,
    Call,
    CallEvent,
    HedgeEnded,
    HedgeResult,
    HedgeSettings,
    HedgeStarted,
    Policies,
    QueueRejected,
    RateLimit,
    RateLimited,
    RetrySettings,
    Subscribers,
)
from resilience.hedge import HedgeLayer
from resilience.statistics import Counts
from resilience.testing import VirtualClockLoop
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock

AFTER_100_MS = HedgeSettings(delay_s=0.1)


def one_each(period_s: float, *, max_wait_s: float = 30.0) -> RateLimit:
    return RateLimit(permits=1, period_s=period_s, burst=1, max_wait_s=max_wait_s)


def times_s(told: Told, kind: type[CallEvent], request_id: int = 1) -> list[float]:
    return [event.at_s for event in told.heard(kind) if event.request_id == request_id]


@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(Policies(rate_limit=one_each(0.2)), id="token"),
        pytest.param(Policies(bulkhead=BulkheadSettings(max_concurrent=1)), id="slot"),
    ],
)
async def test_an_attempt_that_waits_to_be_sent_gets_no_hedge(policies: Policies) -> None:
    told = Told(replace(policies, hedge=AFTER_100_MS))
    await asyncio.gather(*(told.run(Script(0.09)) for _ in range(20)))
    assert told.heard(HedgeStarted) == []


@pytest.mark.parametrize("wait_s", [0.05, 0.1, 0.25])
async def test_the_delay_counts_from_when_the_attempt_is_sent(wait_s: float) -> None:
    told = Told(Policies(hedge=AFTER_100_MS, rate_limit=one_each(wait_s)))
    await told.run(Script(200))
    await told.run(Script(9.0, 200))
    assert times_s(told, AttemptStarted, 2)[0] == pytest.approx(wait_s)
    assert times_s(told, HedgeStarted, 2) == pytest.approx([wait_s + 0.1])


async def test_the_next_hedge_is_due_a_delay_after_the_last_was_sent() -> None:
    hedge = HedgeSettings(delay_s=0.1, max_hedges=3)
    told = Told(Policies(hedge=hedge, rate_limit=one_each(0.25)))
    await told.run(Script(9.0, 9.0, 9.0, 200))
    assert times_s(told, AttemptStarted) == pytest.approx([0, 0.25, 0.5, 0.75])
    assert times_s(told, HedgeStarted) == pytest.approx([0.1, 0.35, 0.6])


@pytest.mark.parametrize(
    ("slots", "hedges_at_s"),
    [
        pytest.param(BulkheadSettings(max_concurrent=1, max_queue=0), [0.1, 0.2], id="at-once"),
        pytest.param(
            BulkheadSettings(max_concurrent=1, max_wait_s=0.15), [0.1, 0.35], id="after-a-wait"
        ),
    ],
)
async def test_a_hedge_that_is_refused_makes_room_for_the_next_a_delay_later(
    slots: BulkheadSettings, hedges_at_s: list[float]
) -> None:
    told = Told(Policies(hedge=HedgeSettings(delay_s=0.1, max_hedges=2), bulkhead=slots))
    script = Script(0.6)
    assert (await told.run(script)).status_code == 200
    assert times_s(told, HedgeStarted) == pytest.approx(hedges_at_s)
    assert [event.result for event in told.heard(HedgeEnded)] == [HedgeResult.FAILED] * 2
    assert script.requests == 1


async def test_no_further_hedge_comes_once_the_first_attempt_has_ended() -> None:
    async def fail() -> httpx.Response:
        await asyncio.sleep(0.2)
        return response(503)

    async def answer_late() -> httpx.Response:
        await asyncio.sleep(0.5)
        return response(200)

    attempts = iter([fail(), answer_late()])
    hedge = HedgeSettings(delay_s=0.1, max_hedges=3)
    told = Told(Policies(hedge=hedge, rate_limit=one_each(0.25)))
    assert (await told.pipeline.run(attempts.__next__)).status_code == 200
    assert len(told.heard(HedgeStarted)) == 1  # it waited for its token while the first failed


async def test_a_retry_that_waits_to_be_sent_gets_no_hedge_either() -> None:
    retry = RetrySettings(max_retries=1, base_delay_s=0)
    slots = BulkheadSettings(max_concurrent=1)
    told = Told(Policies(retry=retry, hedge=AFTER_100_MS, bulkhead=slots))
    others = (told.run(Script(0.09)) for _ in range(3))
    await asyncio.gather(told.run(Script(503, 0.09)), *others)
    assert times_s(told, AttemptStarted, 1) == pytest.approx([0, 0.27])
    assert told.heard(HedgeStarted) == []


async def test_a_hedge_is_on_time_whoever_was_sent_before() -> None:
    loop, told, counts = asyncio.get_running_loop(), Subscribers(), Counts()
    hedged_at_s: dict[int, float] = {}

    async def admit_the_first_late(call: Call) -> httpx.Response:
        if call.request_id in sent:
            hedged_at_s[call.request_id] = loop.time()
            return response(200)
        sent.add(call.request_id)
        if call.request_id == 1:
            call.hold()
            await asyncio.sleep(0.05)
            call.let_go(loop.time())
        await asyncio.sleep(9)
        return response(200)

    sent = set[int]()
    layer = HedgeLayer(AFTER_100_MS, admit_the_first_late, subscribers=told, counts=counts)
    await asyncio.gather(*(layer(Call("GET", Script(), request_id=n)) for n in (1, 2)))
    assert hedged_at_s == pytest.approx({1: 0.15, 2: 0.1})


async def test_a_learnt_delay_is_of_the_source_alone_however_long_calls_wait_for_it() -> None:
    told = Told(Policies(hedge=HedgeSettings(), rate_limit=one_each(0.2)))
    await asyncio.gather(*(told.run(Script(0.1)) for _ in range(50)))
    begun_s = asyncio.get_running_loop().time()
    await told.run(Script(9.0, 200))
    sent_s = times_s(told, AttemptStarted, 51)[0]
    assert sent_s > begun_s
    assert times_s(told, HedgeStarted, 51) == pytest.approx([sent_s + 0.101])


async def test_whoever_leaves_before_the_attempt_is_sent_teaches_nothing() -> None:
    told = Told(
        Policies(
            total_timeout_s=5.0, hedge=HedgeSettings(), bulkhead=BulkheadSettings(max_concurrent=1)
        )
    )
    for _ in range(20):
        await told.run(Script(0.1))
    holder = asyncio.create_task(told.run(Script(4.0, 4.0)))
    waiting = [asyncio.create_task(told.run(Script(0.1))) for _ in range(100)]
    await asyncio.sleep(3)
    for call in waiting:
        call.cancel()
    await asyncio.gather(*waiting, holder, return_exceptions=True)
    slow = Script(3.0, 0.1)
    sent_s = asyncio.get_running_loop().time()
    await told.run(slow)
    assert times_s(told, HedgeStarted, 122) == pytest.approx([sent_s + 0.101])


@pytest.mark.parametrize("hedge", [AFTER_100_MS, HedgeSettings()], ids=["fixed", "learnt"])
async def test_hedging_costs_a_steady_source_behind_a_queue_nothing(hedge: HedgeSettings) -> None:
    """Nobody is refused, nor waits, for a hedge that could not have overtaken its first."""

    async def played(hedge: HedgeSettings | None) -> tuple[list[bool], float]:
        loop, chance = asyncio.get_running_loop(), Random(5)
        limit = RateLimit.per_second(10, burst=1, max_queue=20)
        told, calls, began_s = Told(Policies(hedge=hedge, rate_limit=limit)), [], loop.time()
        for _ in range(500):
            await asyncio.sleep(chance.expovariate(9.5))
            calls.append(asyncio.create_task(told.run(Script(0.09))))
        ends = await asyncio.gather(*calls, return_exceptions=True)
        took_s = round(loop.time() - began_s, 6)
        return [isinstance(end, RateLimited) for end in ends], took_s

    refused, took_s = await played(None)
    assert any(refused)
    assert await played(hedge) == (refused, took_s)


CALL = st.tuples(
    st.floats(0, 0.5), st.lists(st.sampled_from([0.0, 0.15, 0.4, 503]), min_size=4, max_size=4)
)
QUEUES = st.sampled_from(
    [
        Policies(rate_limit=one_each(0.17, max_wait_s=0.6)),
        Policies(bulkhead=BulkheadSettings(max_concurrent=2, max_queue=3, max_wait_s=0.3)),
        Policies(
            rate_limit=one_each(0.07), bulkhead=BulkheadSettings(max_concurrent=2, max_queue=3)
        ),
    ]
)


@settings(deadline=None)
@given(QUEUES, st.lists(CALL, min_size=1, max_size=12), st.integers(1, 3))
def test_whatever_queues_a_hedge_comes_a_delay_after_all_before_it_were_sent_or_refused(
    policies: Policies, calls: list[tuple[float, list[float | int]]], max_hedges: int
) -> None:
    delay_s = 0.1
    hedge = HedgeSettings(delay_s=delay_s, max_hedges=max_hedges)

    async def scenario() -> None:
        told = Told(replace(policies, hedge=hedge))

        async def call(begin_s: float, steps: list[float | int]) -> None:
            await asyncio.sleep(begin_s)
            await told.run(Script(*steps))

        await asyncio.gather(*(call(*each) for each in calls), return_exceptions=True)
        for started in told.heard(HedgeStarted):
            of_it = started.request_id
            over_s = times_s(told, AttemptStarted, of_it) + times_s(told, QueueRejected, of_it)
            due_s = started.at_s - delay_s + 1e-6
            assert sum(at_s <= due_s for at_s in over_s) >= started.hedge
        assert len(told.heard(HedgeStarted)) == len(told.heard(HedgeEnded))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        bucket, bulkhead = told.pipeline.bucket, told.pipeline.bulkhead
        assert bucket is None or bucket.waiting == 0
        assert bulkhead is None or bulkhead.running == bulkhead.waiting == 0

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(scenario())
