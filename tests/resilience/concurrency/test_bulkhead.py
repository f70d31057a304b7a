import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import Bulkhead, BulkheadFull, BulkheadSettings
from resilience.testing import VirtualClockLoop

pytestmark = pytest.mark.virtual_clock


def slots(max_concurrent: int = 1, *, max_queue: int = 10, max_wait_s: float = 30) -> Bulkhead:
    return Bulkhead(
        BulkheadSettings(max_concurrent=max_concurrent, max_queue=max_queue, max_wait_s=max_wait_s),
        name="rates",
    )


async def hold(bulkhead: Bulkhead, for_s: float) -> float:
    """Hold a slot; return when it was got."""
    await bulkhead.acquire()
    got_at_s = asyncio.get_running_loop().time()
    try:
        await asyncio.sleep(for_s)
    finally:
        bulkhead.release()
    return got_at_s


async def test_the_next_in_line_gets_the_slot_that_comes_free() -> None:
    bulkhead = slots(2)
    assert await asyncio.gather(*(hold(bulkhead, 1.0) for _ in range(5))) == [0, 0, 1, 1, 2]
    assert (bulkhead.running, bulkhead.waiting) == (0, 0)


async def test_a_full_line_refuses_the_next_call() -> None:
    bulkhead = slots(max_queue=1)
    busy = asyncio.gather(hold(bulkhead, 1.0), hold(bulkhead, 1.0))
    await asyncio.sleep(0)
    with pytest.raises(BulkheadFull) as raised:
        await bulkhead.acquire()
    assert (raised.value.running, raised.value.waiting) == (1, 1)
    await busy


async def test_a_wait_ends_at_its_limit() -> None:
    bulkhead = slots(max_wait_s=0.5)
    busy = asyncio.create_task(hold(bulkhead, 1.0))
    await asyncio.sleep(0)
    with pytest.raises(BulkheadFull):
        await bulkhead.acquire()
    assert asyncio.get_running_loop().time() == 0.5
    await busy
    assert (bulkhead.running, bulkhead.waiting) == (0, 0)


async def test_a_waiter_that_is_cancelled_as_it_is_served_hands_its_slot_on() -> None:
    bulkhead = slots()
    await bulkhead.acquire()
    first, second = (asyncio.create_task(hold(bulkhead, 0)) for _ in range(2))
    await asyncio.sleep(0)
    bulkhead.release()
    first.cancel()
    assert await second == 0
    assert first.cancelled()
    assert (bulkhead.running, bulkhead.waiting) == (0, 0)


@settings(max_examples=100, deadline=None)
@given(
    limit=st.integers(1, 3),
    wanted=st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.5]),
            st.sampled_from([0.0, 0.1, 1.0]),
            st.sampled_from([None, None, 0.0, 0.1, 0.5]),
        ),
        max_size=20,
    ),
)
def test_no_more_run_than_allowed_and_every_slot_comes_back(
    limit: int, wanted: list[tuple[float, float, float | None]]
) -> None:
    async def all_calls() -> None:
        bulkhead = slots(limit, max_queue=5, max_wait_s=0.7)
        callers = []
        for gap_s, for_s, cancel_after_s in wanted:
            await asyncio.sleep(gap_s)
            callers.append(asyncio.create_task(hold(bulkhead, for_s)))
            if cancel_after_s is not None:
                asyncio.get_running_loop().call_later(cancel_after_s, callers[-1].cancel)
            assert bulkhead.running <= limit
        await asyncio.gather(*callers, return_exceptions=True)
        assert (bulkhead.running, bulkhead.waiting) == (0, 0)

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(all_calls())


async def test_a_bulkhead_that_grows_lets_the_next_ones_in_and_one_that_shrinks_stops_nobody() -> (
    None
):
    bulkhead = Bulkhead(BulkheadSettings(max_concurrent=1), name="rates")
    waiting = [asyncio.create_task(bulkhead.acquire()) for _ in range(5)]
    await asyncio.sleep(0)
    bulkhead.resize(3)
    await asyncio.sleep(0)
    assert ([task.done() for task in waiting], bulkhead.running) == ([True] * 3 + [False] * 2, 3)
    bulkhead.resize(1)
    bulkhead.release()
    bulkhead.release()
    assert (bulkhead.running, bulkhead.waiting) == (1, 2)
    bulkhead.release()
    await asyncio.sleep(0)
    assert (bulkhead.running, bulkhead.waiting) == (1, 1)
    bulkhead.release()
    bulkhead.release()
    await asyncio.gather(*waiting)
    assert bulkhead.running == 0


def test_a_bulkhead_has_one_slot_at_least() -> None:
    with pytest.raises(ValueError, match="one slot or more, got 0; write 1"):
        slots(3).resize(0)
