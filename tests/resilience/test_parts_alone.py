"""Bulkhead, bucket and permit in the hands of somebody without a pipeline: blocks, and misuse."""

import asyncio

import pytest

from resilience import (
    BreakerSettings,
    Bulkhead,
    BulkheadFull,
    BulkheadSettings,
    CircuitBreaker,
    RateLimit,
    TokenBucket,
)

pytestmark = pytest.mark.virtual_clock


def one_slot() -> Bulkhead:
    return Bulkhead(BulkheadSettings(max_concurrent=1, max_wait_s=0.5), name="mail")


def five_a_second() -> TokenBucket:
    return TokenBucket(RateLimit.per_second(5, burst=1), name="mail")


async def fail_within(part: Bulkhead | TokenBucket) -> None:
    async with part:
        raise LookupError


async def test_a_block_holds_a_slot_until_it_is_left() -> None:
    bulkhead = one_slot()
    async with bulkhead:
        assert bulkhead.running == 1
        with pytest.raises(BulkheadFull):
            await fail_within(bulkhead)
    with pytest.raises(LookupError):
        await fail_within(bulkhead)
    assert (bulkhead.running, bulkhead.waiting) == (0, 0)


async def test_a_block_that_is_cancelled_before_its_turn_takes_no_slot() -> None:
    bulkhead = one_slot()
    async with bulkhead:
        waiter = asyncio.create_task(fail_within(bulkhead))
        await asyncio.sleep(0.1)
        waiter.cancel()
        await asyncio.wait([waiter])
        assert (bulkhead.running, bulkhead.waiting) == (1, 0)
    assert bulkhead.running == 0


async def test_a_slot_that_nobody_holds_cannot_be_given_back() -> None:
    bulkhead = one_slot()
    await bulkhead.acquire()
    bulkhead.release()
    with pytest.raises(RuntimeError, match=r"^no slot of 'mail' is taken; release once for each"):
        bulkhead.release()
    assert [bulkhead.try_acquire() for _ in range(2)] == [True, False]


async def test_a_block_begins_with_a_token_and_spends_it() -> None:
    bucket = five_a_second()
    async with bucket as waited_s:
        assert waited_s == 0
    with pytest.raises(LookupError):
        await fail_within(bucket)
    async with bucket as waited_s:
        assert waited_s == pytest.approx(0.2)
    assert asyncio.get_running_loop().time() == pytest.approx(0.4)


async def take_unentered(bucket: TokenBucket, step: str) -> None:
    if step == "take":
        await bucket.take()
    else:
        getattr(bucket, step)()


@pytest.mark.parametrize("step", ["leave", "try_take", "take"])
async def test_a_place_in_the_line_that_nobody_holds_cannot_be_given_up(step: str) -> None:
    bucket = five_a_second()
    with pytest.raises(RuntimeError, match=r"^no place in the queue of 'mail' is held; enter once"):
        await take_unentered(bucket, step)
    await bucket.acquire()
    waiter = asyncio.create_task(bucket.acquire())  # its place is its own
    await asyncio.sleep(0.1)
    with pytest.raises(RuntimeError, match=r"^no place"):
        await take_unentered(bucket, step)
    assert bucket.waiting == 1
    assert await waiter == pytest.approx(0.2)
    bucket.enter()
    bucket.leave()
    assert bucket.waiting == 0


def test_a_permit_is_leave_for_one_block_only() -> None:
    permit = CircuitBreaker(BreakerSettings(), name="mail", clock=lambda: 0.0).admit()
    with permit:
        pass
    with pytest.raises(RuntimeError, match="ask the breaker for one permit per call"), permit:
        raise AssertionError("the block runs without leave")
