"""The order of the steps before an attempt is sent, and what each gives back."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from resilience import (
    AttemptStarted,
    BreakerSettings,
    BulkheadFull,
    BulkheadSettings,
    CallRejected,
    CircuitOpen,
    Policies,
    QueueRejected,
    RateLimit,
    RateLimitDelayed,
    RateLimited,
    RetryScheduled,
    RetrySettings,
    ServerRateLimited,
)
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock

IN_A_ROW = BreakerSettings(failure_ratio=None, consecutive_failures=1)
FIVE = RateLimit.per_second(5, burst=1)


def kinds(told: Told) -> list[type]:
    return [type(event) for event in told.events]


async def fail_after_a_second() -> httpx.Response:
    await asyncio.sleep(1)
    return response(500)


async def together(told: Told, script: Script, calls: int) -> list[object]:
    return await asyncio.gather(*(told.run(script) for _ in range(calls)), return_exceptions=True)


async def test_each_attempt_takes_a_token_retries_included() -> None:
    told = Told(Policies(retry=RetrySettings(max_retries=2, base_delay_s=0), rate_limit=FIVE))
    script = Script(500)
    await told.run(script)
    assert script.sent_at_s == pytest.approx([0, 0.2, 0.4])
    assert [event.waited_s for event in told.heard(RateLimitDelayed)] == pytest.approx([0.2, 0.2])
    assert [event.attempt for event in told.heard(RateLimitDelayed)] == [2, 3]


async def test_tokens_saved_up_while_all_slots_are_taken_are_not_spent_in_one_burst() -> None:
    """Callers who held a token while they waited for a slot would all be sent at 3.0 s."""
    told = Told(
        Policies(
            bulkhead=BulkheadSettings(max_concurrent=3),
            rate_limit=RateLimit.per_second(1, burst=1),
        )
    )
    script = Script(3.0)
    await together(told, script, 6)
    assert script.sent_at_s == pytest.approx([0, 1, 2, 3, 4, 5])


async def test_a_call_that_waits_for_its_retry_holds_no_slot() -> None:
    told = Told(
        Policies(
            retry=RetrySettings(max_retries=1, base_delay_s=5, jitter=False),
            bulkhead=BulkheadSettings(max_concurrent=1),
        )
    )
    script = Script(500, 200)
    await together(told, script, 2)
    assert script.sent_at_s == [0, 0, 5]


async def test_an_open_circuit_rejects_before_a_place_in_the_queue_is_asked_for() -> None:
    no_room = RateLimit.per_second(0.001, burst=1, max_wait_s=0)
    told = Told(Policies(rate_limit=no_room, breaker=IN_A_ROW))
    await told.run(Script(500))
    with pytest.raises(CircuitOpen):
        await told.run(Script(200))


async def test_a_call_is_refused_a_place_in_the_queue_before_it_waits_for_a_slot() -> None:
    told = Told(
        Policies(
            bulkhead=BulkheadSettings(max_concurrent=1),
            rate_limit=RateLimit.per_second(1, burst=1, max_wait_s=1.5),
        )
    )
    ends = await together(told, Script(0.1), 4)
    refusals = [end for end in ends if isinstance(end, RateLimited)]
    assert [error.would_wait_s for error in refusals] == pytest.approx([2, 2])
    assert [event.at_s for event in told.heard(QueueRejected)] == [0, 0]
    assert [event.cause for event in told.heard(QueueRejected)] == refusals


async def test_a_wait_that_the_whole_limit_has_no_room_for_is_refused_at_once() -> None:
    told = Told(Policies(total_timeout_s=0.3, rate_limit=FIVE))
    ends = await together(told, Script(200), 3)
    assert [isinstance(end, RateLimited) for end in ends] == [False, False, True]


async def test_a_full_bulkhead_ends_the_call_and_leaves_the_queue() -> None:
    told = Told(
        Policies(
            retry=RetrySettings(base_delay_s=0),
            bulkhead=BulkheadSettings(max_concurrent=1, max_queue=0),
            rate_limit=RateLimit.per_second(100),
        )
    )
    ends = await together(told, Script(1.0), 2)
    assert isinstance(ends[1], BulkheadFull)
    assert told.heard(RetryScheduled) == []
    assert told.pipeline.bucket is not None
    assert told.pipeline.bucket.waiting == 0


async def test_a_circuit_that_opens_rejects_at_once_whoever_waits_for_a_token() -> None:
    told = Told(Policies(rate_limit=FIVE, breaker=IN_A_ROW, attempt_timeout_s=0.1))
    script = Script(9.0)
    ends = await together(told, script, 4)
    assert [isinstance(end, CircuitOpen) for end in ends] == [False, True, True, True]
    assert script.requests == 1
    assert [event.at_s for event in told.heard(CallRejected)] == pytest.approx([0.1] * 3)
    assert told.pipeline.bucket is not None
    # None of them has spent the token that comes at 0.2 s, or kept a place before it.
    assert told.pipeline.bucket.would_wait_s() == pytest.approx(0.1)
    assert told.pipeline.bucket.waiting == 0


async def test_a_circuit_that_opens_rejects_at_once_whoever_waits_for_a_slot() -> None:
    told = Told(
        Policies(
            bulkhead=BulkheadSettings(max_concurrent=2),
            rate_limit=RateLimit.per_second(100),
            breaker=IN_A_ROW,
        )
    )
    slow = asyncio.create_task(told.run(Script(9.0)))
    failing = asyncio.create_task(told.pipeline.run(fail_after_a_second))
    ends = await together(told, Script(200), 3)
    assert (await failing).status_code == 500
    rejections = [end for end in ends if isinstance(end, CircuitOpen)]
    assert [error.retry_after_s for error in rejections] == [5, 5, 5]
    assert len({id(error) for error in rejections}) == 3
    assert [event.at_s for event in told.heard(CallRejected)] == [1, 1, 1]
    assert told.pipeline.bulkhead is not None
    assert told.pipeline.bucket is not None
    assert (told.pipeline.bulkhead.running, told.pipeline.bulkhead.waiting) == (1, 0)
    assert told.pipeline.bucket.waiting == 0
    assert (await slow).status_code == 200


@pytest.mark.parametrize("opened_by", ["trip", "isolate"])
async def test_whoever_opens_the_circuit_nobody_is_left_waiting(opened_by: str) -> None:
    told = Told(Policies(bulkhead=BulkheadSettings(max_concurrent=1), breaker=IN_A_ROW))
    slow = asyncio.create_task(told.run(Script(9.0)))
    waiting = asyncio.create_task(told.run(Script(200)))
    await asyncio.sleep(1)
    assert told.pipeline.breaker is not None
    if opened_by == "trip":
        told.pipeline.breaker.trip(3, 503)
    else:
        told.pipeline.breaker.isolate()
    with pytest.raises(CircuitOpen) as raised:
        await waiting
    assert raised.value.retry_after_s == (3 if opened_by == "trip" else None)
    assert asyncio.get_running_loop().time() == 1
    slow.cancel()


async def test_a_call_cancelled_as_the_circuit_opens_leaves_nothing_behind() -> None:
    told = Told(
        Policies(bulkhead=BulkheadSettings(max_concurrent=1), rate_limit=FIVE, breaker=IN_A_ROW)
    )
    slow = asyncio.create_task(told.run(Script(9.0)))
    waiting = asyncio.create_task(told.run(Script(200)))
    await asyncio.sleep(1)
    assert told.pipeline.breaker is not None
    told.pipeline.breaker.isolate()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slow.cancel()
    await asyncio.wait([slow])
    assert told.pipeline.bulkhead is not None
    assert told.pipeline.bucket is not None
    assert (told.pipeline.bulkhead.running, told.pipeline.bulkhead.waiting) == (0, 0)
    assert told.pipeline.bucket.waiting == 0


async def test_a_half_open_circuit_lets_one_of_those_who_wait_try() -> None:
    told = Told(Policies(rate_limit=RateLimit.per_second(1, burst=1), breaker=IN_A_ROW))
    await told.run(Script(500))
    await asyncio.sleep(5)
    script = Script(10.0)
    ends = await together(told, script, 3)
    assert [isinstance(end, CircuitOpen) for end in ends] == [False, True, True]
    assert script.requests == 1


@pytest.mark.parametrize("asked", ["2", "2.0", "Sun, 29 Nov 2026 12:02:02 GMT"])
async def test_a_429_pauses_the_whole_source_for_as_long_as_it_asks(asked: str) -> None:
    told = Told(Policies(retry=RetrySettings(base_delay_s=9), rate_limit=FIVE))
    headers = {"retry-after": asked, "date": "Sun, 29 Nov 2026 12:02:00 GMT"}
    script = Script(response(429, headers), 200)
    await together(told, script, 3)
    assert script.sent_at_s == pytest.approx([0, 2, 2.2, 2.4])
    (limited,) = told.heard(ServerRateLimited)
    assert (limited.pause_s, limited.request_id, limited.attempt) == (2, 1, 1)
    assert len(told.heard(AttemptStarted)) == 4


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {}), (429, {"retry-after": "-1"}), (503, {"retry-after": "2"})],
)
async def test_only_a_429_that_says_how_long_pauses_the_source(
    status: int, headers: dict[str, str]
) -> None:
    told = Told(Policies(rate_limit=FIVE))
    script = Script(response(status, headers), 200)
    await together(told, script, 2)
    assert script.sent_at_s == pytest.approx([0, 0.2])
    assert [event.pause_s for event in told.heard(ServerRateLimited)] == [0] * (status == 429)


async def test_a_cancelled_attempt_gives_its_slot_back() -> None:
    told = Told(Policies(bulkhead=BulkheadSettings(max_concurrent=1)))
    first = asyncio.create_task(told.run(Script(9.0)))
    await asyncio.sleep(0.1)
    first.cancel()
    await asyncio.wait([first])
    assert (await told.run(Script(200))).status_code == 200
    assert told.pipeline.bulkhead is not None
    assert told.pipeline.bulkhead.running == 0


async def test_an_attempt_that_the_circuit_refuses_last_gives_slot_and_token_back() -> None:
    """It waits for its token longer than the break, and finds the trial of another under way."""
    told = Told(
        Policies(
            bulkhead=BulkheadSettings(max_concurrent=3),
            rate_limit=RateLimit(permits=1, period_s=10, burst=1),
            breaker=replace(IN_A_ROW, break_s=5, trial_timeout_s=60),
        )
    )
    assert told.pipeline.breaker is not None
    assert told.pipeline.bucket is not None
    assert told.pipeline.bulkhead is not None
    await told.run(Script(200))
    told.pipeline.breaker.trip(5, 503)
    await asyncio.sleep(6)  # the break is over, and the next token 4 s away
    script = Script(30.0)
    calls = [asyncio.ensure_future(told.run(script)) for _ in range(2)]
    await asyncio.sleep(18)

    assert isinstance(calls[1].exception(), CircuitOpen)
    assert told.pipeline.bulkhead.running == 1  # the trial's
    assert told.pipeline.bucket.would_wait_s() == 0
    assert (await calls[0]).status_code == 200


async def test_a_failing_stream_that_was_read_holds_no_slot_during_its_retry() -> None:
    told = Told(
        Policies(
            retry=RetrySettings(max_retries=1, base_delay_s=0),
            bulkhead=BulkheadSettings(max_concurrent=1, max_wait_s=1),
        )
    )
    kept: list[httpx.Response] = []
    script = Script(503, 200)
    final = await told.pipeline.run(script, keep=lambda response, _: kept.append(response))
    assert (final.status_code, kept) == (200, [])
