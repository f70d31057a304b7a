import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import RateLimit, RateLimited, TokenBucket
from resilience.testing import VirtualClockLoop

pytestmark = pytest.mark.virtual_clock
ROUNDING = 1e-6


def bucket(permits: float = 5, **rules: float) -> TokenBucket:
    return TokenBucket(RateLimit.per_second(permits, **rules), name="rates")  # type: ignore[arg-type]


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def taken_at_s(tokens: TokenBucket) -> float:
    await tokens.acquire()
    return now_s()


async def many(tokens: TokenBucket, calls: int) -> list[float]:
    """Return when each of so many callers, all there at once, gets its token."""
    return await asyncio.gather(*(taken_at_s(tokens) for _ in range(calls)))


async def test_it_starts_full_and_refills_without_steps() -> None:
    assert await many(bucket(5, burst=2), 5) == pytest.approx([0, 0, 0.2, 0.4, 0.6])


async def test_it_holds_no_more_than_its_burst_however_long_it_is_left_alone() -> None:
    tokens = bucket(5, burst=2)
    await asyncio.sleep(100)
    assert await many(tokens, 3) == pytest.approx([100, 100, 100.2])


async def test_a_fraction_of_a_token_counts() -> None:
    tokens = bucket(10, burst=1)
    await tokens.acquire()
    await asyncio.sleep(0.04)
    assert await tokens.acquire() == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("limit", "capacity", "interval_s"),
    [
        (RateLimit.per_minute(1200), 1200, 0.05),
        (RateLimit.per_second(0.5), 1, 2.0),
        (RateLimit.per_second(20, burst=10), 10, 0.05),
    ],
)
def test_a_rate_is_given_a_second_or_a_minute(
    limit: RateLimit, capacity: int, interval_s: float
) -> None:
    assert limit.capacity == capacity
    assert limit.interval_s == interval_s


async def test_a_full_queue_refuses_with_the_wait_it_would_have_been() -> None:
    tokens = bucket(5, burst=1, max_queue=2)
    waiting = asyncio.gather(*(taken_at_s(tokens) for _ in range(3)))
    await asyncio.sleep(0)
    with pytest.raises(RateLimited) as raised:
        await tokens.acquire()
    assert raised.value.would_wait_s == pytest.approx(0.6)
    assert raised.value.waiting == 2
    assert await waiting == pytest.approx([0, 0.2, 0.4])


@pytest.mark.parametrize(("max_wait_s", "served"), [(0.39, 2), (0.41, 3), (0, 1)])
async def test_a_wait_that_would_be_too_long_is_refused_at_once(
    max_wait_s: float, served: int
) -> None:
    tokens = bucket(5, burst=1, max_wait_s=max_wait_s)
    ends = await asyncio.gather(*(taken_at_s(tokens) for _ in range(6)), return_exceptions=True)
    assert sum(isinstance(end, RateLimited) for end in ends) == 6 - served
    assert tokens.waiting == 0


async def test_a_wait_that_would_reach_the_callers_own_limit_is_refused() -> None:
    tokens = bucket(5, burst=1)
    await tokens.acquire()
    with pytest.raises(RateLimited):
        tokens.enter(deadline_s=0.2)
    tokens.enter(deadline_s=0.21)


async def test_a_cancelled_waiter_leaves_no_hole_and_takes_no_token() -> None:
    tokens = bucket(5, burst=1)
    callers = [asyncio.create_task(taken_at_s(tokens)) for _ in range(5)]
    await asyncio.sleep(0.1)
    callers[1].cancel()
    callers[3].cancel()
    ends = await asyncio.gather(*callers, return_exceptions=True)
    assert [end for end in ends if isinstance(end, float)] == pytest.approx([0, 0.2, 0.4])
    assert tokens.waiting == 0


async def test_a_waiter_that_is_cancelled_as_it_is_served_hands_its_token_on() -> None:
    tokens = bucket(5, burst=1)
    await tokens.acquire()
    first, second = (asyncio.create_task(taken_at_s(tokens)) for _ in range(2))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(0.2, first.cancel)  # after the bucket's own timer
    await asyncio.wait([first])
    assert first.cancelled()
    assert await second == pytest.approx(0.2)


async def test_a_pause_stops_everybody_and_the_longer_one_wins() -> None:
    tokens = bucket(5, burst=1)
    callers = asyncio.gather(*(taken_at_s(tokens) for _ in range(3)))
    await asyncio.sleep(0.1)
    assert [tokens.pause(pause_s) for pause_s in (2.0, 1.0)] == [2.0, 1.0]
    assert await callers == pytest.approx([0, 2.1, 2.3])


async def test_after_a_pause_the_source_is_called_at_its_rate_and_not_in_a_burst() -> None:
    tokens = bucket(5, burst=3)
    tokens.pause(1.0)
    assert await many(tokens, 3) == pytest.approx([1, 1.2, 1.4])


@pytest.mark.parametrize("asked_s", [61, 1e300, float("inf")])
async def test_a_pause_is_bounded(asked_s: float) -> None:
    tokens = bucket(5, burst=1, max_wait_s=100)
    assert tokens.pause(asked_s) == 60
    assert await tokens.acquire() == pytest.approx(60)


async def test_a_pause_of_nothing_changes_nothing() -> None:
    tokens = bucket(5, burst=3)
    assert [tokens.pause(0), tokens.pause(-1)] == [0, 0]
    assert await many(tokens, 3) == [0, 0, 0]


async def test_a_token_given_back_does_not_shorten_a_pause() -> None:
    tokens = bucket(5, burst=1)
    await tokens.acquire()
    tokens.pause(1.0)
    tokens.give_back()
    assert await taken_at_s(tokens) == pytest.approx(1.0)


async def test_a_waiter_gives_up_when_a_pause_makes_its_wait_too_long() -> None:
    tokens = bucket(5, burst=1, max_wait_s=0.5)
    await tokens.acquire()
    waiter = asyncio.create_task(tokens.acquire())
    await asyncio.sleep(0.1)
    tokens.pause(3.0)
    with pytest.raises(RateLimited) as raised:
        await waiter
    assert now_s() == pytest.approx(0.5)
    assert raised.value.would_wait_s == pytest.approx(2.6)
    assert tokens.waiting == 0


# (arrives this much after the one before, is cancelled after, asks for a pause of)
arrivals = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 0.05, 0.1, 0.33, 2.0]) | st.floats(0, 1),
        st.none() | st.sampled_from([0.0, 0.1, 0.2, 0.5]) | st.floats(0, 2),
        st.none() | st.none() | st.sampled_from([0.3, 1.0]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(
    permits=st.sampled_from([1, 3, 5, 7, 10]) | st.floats(0.5, 50),
    burst=st.integers(1, 5),
    wanted=arrivals,
)
def test_no_window_sees_more_than_burst_and_rate_allow_in_order_of_arrival(
    permits: float, burst: int, wanted: list[tuple[float, float | None, float | None]]
) -> None:
    served: list[tuple[int, float]] = []
    pauses: list[tuple[float, float]] = []

    async def call(tokens: TokenBucket, number: int) -> None:
        await tokens.acquire()
        served.append((number, now_s()))

    async def all_calls() -> None:
        tokens = bucket(permits, burst=burst, max_wait_s=1000)
        callers = []
        for number, (gap_s, cancel_after_s, pause_s) in enumerate(wanted):
            await asyncio.sleep(gap_s)
            callers.append(asyncio.create_task(call(tokens, number)))
            if cancel_after_s is not None:
                asyncio.get_running_loop().call_later(cancel_after_s, callers[-1].cancel)
            if pause_s is not None:
                tokens.pause(pause_s)
                pauses.append((now_s(), now_s() + pause_s))
        await asyncio.gather(*callers, return_exceptions=True)
        assert tokens.waiting == 0
        if not pauses:
            assert tokens.would_wait_s() <= 1 / permits + ROUNDING

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(all_calls())

    assert [number for number, _ in served] == sorted(number for number, _ in served)
    times = [at_s for _, at_s in served]
    for first, began_s in enumerate(times):
        for last in range(first, len(times)):
            window_s = times[last] - began_s
            assert last - first + 1 <= burst + permits * window_s + ROUNDING
    for began_s, until_s in pauses:
        assert not any(began_s + ROUNDING < at_s < until_s - ROUNDING for at_s in times)
    uncancelled = {number for number, (_, cut, _) in enumerate(wanted) if cut is None}
    assert uncancelled <= {number for number, _ in served}


def test_a_line_given_up_in_one_event_loop_does_not_hold_up_those_in_the_next() -> None:
    tokens = bucket(100, burst=1)

    async def impatient() -> None:
        await tokens.acquire()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tokens.acquire(), 0.001)

    async def patient() -> float:
        await tokens.acquire()
        async with asyncio.timeout(5):
            return await tokens.acquire()

    asyncio.run(impatient())
    assert asyncio.run(patient()) > 0


async def test_a_waiter_who_left_at_its_deadline_does_not_have_the_next_one_refused() -> None:
    tokens = bucket(5, burst=1, max_wait_s=0.5)
    await tokens.acquire()
    waiters: list[asyncio.Task[float]] = []

    def leave() -> None:
        waiters[0].cancel()

    asyncio.get_running_loop().call_at(0.5, leave)  # in the very step of the bucket's own timer
    waiters.append(asyncio.create_task(tokens.acquire()))
    await asyncio.sleep(0.1)
    second = asyncio.ensure_future(tokens.acquire())
    await asyncio.sleep(0.05)
    tokens.pause(0.4)  # tokens from 0.55 s
    await asyncio.wait(waiters)

    assert await second == pytest.approx(0.45)
    assert tokens.waiting == 0
