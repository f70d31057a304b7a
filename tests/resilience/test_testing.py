import asyncio
import fcntl
import math
import resource
import socket
from collections.abc import Iterator
from random import Random

import httpx
import pytest

from resilience import (
    BreakerSettings,
    Policies,
    RateLimit,
    ResilientClient,
    RetrySettings,
    Source,
)
from resilience.testing import VirtualClockLoop


@pytest.mark.virtual_clock
async def test_an_hour_of_virtual_time_passes_at_once() -> None:
    await asyncio.sleep(3600)

    assert asyncio.get_running_loop().time() == 3600


@pytest.fixture
def many_files() -> Iterator[int]:
    """Let the process have more files than `select` takes; return the first number beyond."""
    beyond = 1024
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield beyond
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def test_it_runs_in_a_process_with_more_than_a_thousand_open_files(many_files: int) -> None:
    async def receive() -> tuple[bytes, float]:
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()
        with one, other, socket.socket(fileno=fcntl.fcntl(other, fcntl.F_DUPFD, many_files)) as far:
            far.setblocking(False)
            loop.call_later(1, one.send, b"ok")
            return await loop.sock_recv(far, 2), loop.time()

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        assert runner.run(receive()) == (b"ok", 1)


@pytest.mark.parametrize("polls", [True, False])
def test_a_test_that_waits_for_ever_is_an_error_and_not_a_hang(*, polls: bool) -> None:
    ended = []

    async def wait_for_what_never_comes() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    with (
        pytest.raises(RuntimeError, match="every task waits and no timer is set"),
        asyncio.Runner(loop_factory=lambda: VirtualClockLoop(polls=polls)) as runner,
    ):
        runner.run(wait_for_what_never_comes())
    assert ended == ["cleaned up"]


def test_a_client_waits_on_it_to_the_second() -> None:
    answers = iter([httpx.Response(503, headers={"Retry-After": "30"}), httpx.Response(500)])
    transport = httpx.MockTransport(lambda _: next(answers, httpx.Response(200)))
    retry = RetrySettings(max_retries=2, base_delay_s=2, jitter=False)
    source = Source(name="s", base_url="http://s.test", policies=Policies(retry=retry))

    async def call() -> tuple[int, float]:
        async with ResilientClient([source], random=Random(1), transport=transport) as client:
            response = await client.get("s", "/")
        return response.status_code, asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        assert runner.run(call()) == (200, 34.0)


LATE = [0.0, -1e6, 2.0**24, 1.8e9, 2.0**31, 1e15]


@pytest.mark.parametrize("now_s", LATE)
def test_a_timer_fires_at_its_moment_however_late_it_is(now_s: float) -> None:
    async def sleep() -> float:
        await asyncio.sleep(30)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=lambda: VirtualClockLoop(now_s=now_s)) as runner:
        assert runner.run(sleep()) == now_s + 30


@pytest.mark.parametrize("now_s", LATE)
def test_a_clock_that_is_set_forward_lets_a_timer_for_this_very_moment_fire(now_s: float) -> None:
    async def wait_for_now() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualClockLoop)
        loop.now_s = now_s
        now = loop.create_future()
        loop.call_at(now_s, now.set_result, None)
        await now
        assert loop.time() == now_s

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(wait_for_now())


@pytest.mark.parametrize("now_s", LATE)
def test_the_shortest_waits_get_on(now_s: float) -> None:
    async def sleep_often() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(10):
            before_s = loop.time()
            await asyncio.sleep(1e-12)
            assert before_s < loop.time() <= before_s + max(math.ulp(before_s), 2e-12)

    with asyncio.Runner(loop_factory=lambda: VirtualClockLoop(now_s=now_s)) as runner:
        runner.run(sleep_often())


@pytest.mark.parametrize("after_s", [86_400 * 195, 1e12, 1e300, 1.7e308])
@pytest.mark.virtual_clock
async def test_the_clock_jumps_to_the_farthest_timer_at_once(after_s: float) -> None:
    await asyncio.sleep(after_s)

    assert asyncio.get_running_loop().time() == after_s


@pytest.mark.virtual_clock
async def test_timers_fire_in_the_order_of_their_times_whatever_those_are() -> None:
    loop, fired = asyncio.get_running_loop(), list[float]()
    for at_s in (5, -math.inf, 1e9, -3, math.inf, 5 + 1e-6, 0, 2.0**30 + 1e-7):
        loop.call_at(at_s, fired.append, at_s)

    await asyncio.sleep(1e10)

    assert fired == [-math.inf, -3, 0, 5, 5 + 1e-6, 1e9, 2.0**30 + 1e-7]


@pytest.mark.parametrize("forever_s", [None, math.inf])
def test_a_sleep_for_ever_is_an_error_and_not_a_hang(forever_s: float | None) -> None:
    async def sleep() -> None:
        async with asyncio.timeout(forever_s):
            await asyncio.sleep(math.inf)

    with (
        pytest.raises(RuntimeError, match="every task waits and no timer is set"),
        asyncio.Runner(loop_factory=VirtualClockLoop) as runner,
    ):
        runner.run(sleep())


@pytest.mark.virtual_clock
async def test_a_timer_for_ever_can_be_cancelled() -> None:
    async with asyncio.timeout(math.inf):
        await asyncio.sleep(1)

    assert asyncio.get_running_loop().time() == 1


@pytest.mark.parametrize("now_s", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_none_is_refused(now_s: float) -> None:
    with pytest.raises(ValueError, match="now_s must be a finite number of seconds"):
        VirtualClockLoop(now_s=now_s)


@pytest.mark.virtual_clock
async def test_a_timer_for_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be set for NaN"):
        asyncio.get_running_loop().call_at(math.nan, print)
    with pytest.raises(ValueError, match="NaN"):
        await asyncio.sleep(math.nan)


@pytest.mark.parametrize("now_s", LATE)
def test_the_policies_keep_their_times_however_late_it_is(now_s: float) -> None:
    policies = Policies(
        total_timeout_s=60,
        retry=RetrySettings(max_retries=3, base_delay_s=0.1, jitter=False),
        rate_limit=RateLimit.per_second(10, burst=1, max_wait_s=30),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=100),
        attempt_timeout_s=0.5,
    )
    source = Source(name="s", base_url="http://s.test", policies=policies)

    async def slow(_request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(5)
        return httpx.Response(200)

    async def call() -> float:
        loop, transport = asyncio.get_running_loop(), httpx.MockTransport(slow)
        async with ResilientClient([source], random=Random(1), transport=transport) as client:
            calls = [client.get("s", "/") for _ in range(3)]
            await asyncio.gather(*calls, return_exceptions=True)
            assert client.statistics("s").attempts == 12
        return loop.time() - now_s

    with asyncio.Runner(loop_factory=lambda: VirtualClockLoop(now_s=now_s)) as runner:
        assert runner.run(call()) == pytest.approx(2.9, abs=max(1e-6, 40 * math.ulp(now_s)))
