"""A client goes from one event loop to the next, and no two use it at the same time."""

import asyncio
import gc
import socketserver
import threading
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import httpx
import pytest
import uvloop

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    Bulkhead,
    BulkheadFull,
    BulkheadSettings,
    CircuitBreaker,
    CircuitOpen,
    HedgeSettings,
    Policies,
    RateLimit,
    RateLimited,
    ResilientClient,
    RetryBudget,
    RetrySettings,
    Source,
    TokenBucket,
)
from resilience.testing import VirtualClockLoop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
EVERYTHING = Policies(
    total_timeout_s=30,
    retry=RetrySettings(max_retries=1, base_delay_s=0.01, budget=RetryBudget()),
    hedge=HedgeSettings(delay_s=20),
    bulkhead=BulkheadSettings(max_concurrent=2),
    rate_limit=RateLimit.per_second(1000, burst=4),
    breaker=BreakerSettings(),
    attempt_timeout_s=10,
)
Loop = Callable[[], asyncio.AbstractEventLoop]
LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


class _Connection(socketserver.StreamRequestHandler):
    server: "Server"

    def handle(self) -> None:
        """Answer 200, /silent never, until the client hangs up."""
        self.server.count(1)
        head = b""
        while line := self.rfile.readline():
            head += line
            if line == b"\r\n":
                if b"/silent" not in head:
                    self.wfile.write(OK)
                self.server.arrived.release()
                head = b""
        self.server.count(-1)


class Server(socketserver.ThreadingTCPServer):
    """A server in threads, which no event loop of a test keeps from answering."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.connections = 0
        self.arrived = threading.Semaphore(0)
        self._changed = threading.Condition()

    @property
    def url(self) -> str:
        """Return where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, change: int) -> None:
        """Count a connection that opens or closes."""
        with self._changed:
            self.connections += change
            self._changed.notify_all()

    def expect_no_connection(self) -> None:
        """Wait until the client has closed all."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.connections == 0, timeout=20)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
    gc.collect()  # what was not closed warns here, and warnings are errors


def client_of(url: str, policies: Policies = EVERYTHING) -> ResilientClient:
    return ResilientClient([Source(name="s", base_url=url, policies=policies)], random=Random(1))


async def get(client: ResilientClient, times: int = 5) -> list[int]:
    responses = await asyncio.gather(*(client.get("s", "/") for _ in range(times)))
    return [response.status_code for response in responses]


def run(work: Coroutine[Any, Any, Any], loop: Loop = asyncio.new_event_loop) -> Any:  # noqa: ANN401
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)


def in_thread(act: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Return what `act` returns, or the exception that it raises, in a thread of its own."""
    results: list[Any] = []

    def keep() -> None:
        try:
            results.append(act())
        except Exception as error:  # noqa: BLE001 - it is the result
            results.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    thread.join()
    return results[0]


@LOOPS
def test_one_asyncio_run_after_the_other_uses_one_client(server: Server, loop: Loop) -> None:
    client = client_of(server.url)
    for number in range(1, 4):
        assert run(get(client), loop) == [200] * 5
        server.expect_no_connection()
        assert client.statistics("s").ok == 5 * number


def test_loops_of_different_kinds_follow_each_other(server: Server) -> None:
    client = client_of(server.url)
    for loop in (uvloop.new_event_loop, asyncio.new_event_loop, uvloop.new_event_loop):
        assert run(get(client), loop) == [200] * 5
    run(client.aclose())
    with pytest.raises(RuntimeError, match="the client is closed"):
        run(get(client))


def test_threads_may_use_it_one_after_the_other(server: Server) -> None:
    client = client_of(server.url)
    assert run(get(client)) == [200] * 5
    for _ in range(2):
        assert in_thread(lambda: run(get(client))) == [200] * 5


@LOOPS
def test_another_thread_is_told_what_to_do_while_the_loop_runs(server: Server, loop: Loop) -> None:
    client = client_of(server.url)

    async def use_while_another_thread_does() -> None:
        assert await get(client) == [200] * 5
        refused = await asyncio.to_thread(in_thread, lambda: run(get(client), loop))
        assert isinstance(refused, RuntimeError)
        assert "in use on another event loop, which runs in another thread" in str(refused)
        assert "make a client for each loop" in str(refused)
        assert "asyncio.run_coroutine_threadsafe" in str(refused)
        assert await get(client) == [200] * 5

        def as_told() -> httpx.Response:
            return asyncio.run_coroutine_threadsafe(client.get("s", "/"), here).result()

        here = asyncio.get_running_loop()
        assert (await asyncio.to_thread(as_told)).status_code == 200
        assert client.statistics("s").requests == 11

    run(use_while_another_thread_does(), loop)


def test_of_threads_that_begin_at_once_one_at_a_time_is_served(server: Server) -> None:
    client, threads = client_of(server.url), 8
    at_once, over = threading.Barrier(threads), threading.Barrier(threads)
    results: list[object] = []

    async def use() -> None:
        at_once.wait()
        results.extend(
            await asyncio.gather(*(client.get("s", "/") for _ in range(3)), return_exceptions=True)
        )
        over.wait()  # every loop runs until all have their results

    started = [threading.Thread(target=asyncio.run, args=(use(),)) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    answers = [each for each in results if isinstance(each, httpx.Response)]
    refused = [each for each in results if isinstance(each, RuntimeError)]
    assert (len(answers), len(refused)) == (3, 3 * (threads - 1))
    assert all("make a client for each loop" in str(each) for each in refused)


def test_loops_that_take_turns_in_one_thread_keep_their_connections(server: Server) -> None:
    client = client_of(server.url, Policies())
    with asyncio.Runner() as one, asyncio.Runner() as other:
        for _ in range(3):
            assert one.run(get(client, 2)) == [200] * 2
            assert other.run(get(client, 2)) == [200] * 2
        assert server.connections == 4
    server.expect_no_connection()


@pytest.mark.parametrize("ended_by", ["the end of the run", "an interrupt"])
def test_calls_that_a_loop_leaves_behind_hold_nothing_in_the_next(
    server: Server, ended_by: str
) -> None:
    client = client_of(server.url)

    async def leave_calls_behind() -> None:
        calls = [asyncio.create_task(client.get("s", "/silent")) for _ in range(6)]
        await asyncio.to_thread(server.arrived.acquire)
        assert client.statistics("s").in_flight == len(calls)
        if ended_by == "an interrupt":
            raise KeyboardInterrupt

    for _ in range(3):
        if ended_by == "an interrupt":
            with pytest.raises(KeyboardInterrupt):
                run(leave_calls_behind())
        else:
            run(leave_calls_behind())
        server.expect_no_connection()
        assert run(get(client)) == [200] * 5
        counted = client.statistics("s")
        assert (counted.in_flight, counted.waiting) == (0, 0)


def test_a_stream_that_a_loop_leaves_behind_is_closed_with_it(server: Server) -> None:
    client = client_of(server.url)

    async def leave_a_stream_behind() -> None:
        async def stream() -> None:
            async with client.stream("GET", "s", "/"):
                opened.set()
                await asyncio.Event().wait()

        opened = asyncio.Event()
        streaming = asyncio.create_task(stream())
        await opened.wait()
        assert not streaming.done()

    for _ in range(3):
        run(leave_a_stream_behind())
        server.expect_no_connection()


def test_a_loop_that_is_closed_by_hand_as_asyncio_asks_closes_its_connections(
    server: Server,
) -> None:
    client = client_of(server.url)
    for _ in range(2):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(get(client)) == [200] * 5
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        server.expect_no_connection()


def test_a_client_that_is_closed_on_another_loop_is_closed(server: Server) -> None:
    client = client_of(server.url)

    async def close_elsewhere() -> None:
        await get(client)
        assert await asyncio.to_thread(in_thread, lambda: run(client.aclose())) is None
        with pytest.raises(RuntimeError, match="the client is closed"):
            await get(client)

    run(close_elsewhere())
    server.expect_no_connection()


def answering(status: int, policies: Policies) -> ResilientClient:
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    source = Source(name="s", base_url="http://s.test", policies=policies)
    return ResilientClient([source], random=Random(1), transport=transport)


@LOOPS
def test_what_the_policies_know_stays_from_loop_to_loop(loop: Loop) -> None:
    rate_limit = RateLimit.per_second(0.001, burst=2, max_queue=0)
    broken = answering(
        500, Policies(breaker=BreakerSettings(failure_ratio=None, consecutive_failures=2))
    )
    busy = answering(200, Policies(rate_limit=rate_limit))
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=RetryBudget(ratio=0, min_per_s=0.2))
    retried = answering(500, Policies(retry=retry))
    for _ in range(2):
        run(get(broken, 1), loop)
        run(get(busy, 1), loop)
        run(get(retried, 1), loop)
    with pytest.raises(CircuitOpen):
        run(get(broken, 1), loop)
    with pytest.raises(RateLimited):
        run(get(busy, 1), loop)
    run(get(retried, 1), loop)
    assert retried.statistics("s").retries_suppressed == 1


def at(now_s: float) -> Loop:
    return lambda: VirtualClockLoop(now_s=now_s)


@pytest.mark.parametrize("next_s", [0.0, 999.0])
def test_a_clock_that_is_behind_the_last_ones_makes_nothing_wait_longer(next_s: float) -> None:
    breaker = BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=30)
    client = answering(500, Policies(breaker=breaker))
    run(get(client, 1), at(1000))

    async def left_s() -> float | None:
        with pytest.raises(CircuitOpen) as raised:
            await client.get("s", "/")
        return raised.value.retry_after_s

    async def wait_and_try() -> int:
        await asyncio.sleep(30)
        return (await client.get("s", "/")).status_code

    assert run(left_s(), at(next_s)) == pytest.approx(30)
    assert run(wait_and_try(), at(next_s)) == 500


@pytest.mark.parametrize("next_s", [0.0, 5e5])
def test_the_rate_and_a_pause_are_kept_by_a_clock_that_is_behind(next_s: float) -> None:
    limit = RateLimit.per_second(0.1, burst=1, max_wait_s=60)
    client = answering(429, Policies(rate_limit=limit, retry=None))

    async def wait_s() -> float:
        before_s = asyncio.get_running_loop().time()
        await client.get("s", "/")
        return asyncio.get_running_loop().time() - before_s

    assert run(wait_s(), at(1e6)) == 0
    assert run(wait_s(), at(next_s)) == pytest.approx(10)
    assert run(wait_s(), at(next_s)) == pytest.approx(10)


def test_a_window_forgets_by_a_clock_that_is_behind() -> None:
    breaker = BreakerSettings(failure_ratio=0.5, minimum_throughput=2, sampling_s=10)
    budget = RetryBudget(ratio=0, min_per_s=0.1, window_s=10)
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=budget)
    client = answering(500, Policies(breaker=breaker, retry=None))
    retried = answering(500, Policies(retry=retry))

    async def fail() -> None:
        for each in (client, retried):
            await each.get("s", "/")
        await asyncio.sleep(10)

    for _ in range(3):  # each failure is forgotten when the next comes, and so is each retry
        run(fail(), at(0))
    assert client.statistics("s").circuit == "closed"
    assert retried.statistics("s").retries == 3


def test_an_adaptive_limit_goes_on_probing_by_a_clock_that_is_behind() -> None:
    client = answering(200, Policies(adaptive=AdaptiveSettings(initial_limit=8, min_limit=2)))
    adaptive = client.adaptive("s")
    assert adaptive is not None

    async def fewest_slots_later_on() -> int:
        seen = []
        for second in range(60):
            await asyncio.gather(*(client.get("s", "/") for _ in range(100)))
            await asyncio.sleep(1)
            if second > 10:  # the first probe is over
                seen.append((adaptive.slots._max_concurrent, adaptive.limit))
        return sum(slots < limit for slots, limit in seen)

    for now_s in (1e6, 0, 0):
        assert run(fewest_slots_later_on(), at(now_s)) > 0


def test_parts_alone_go_from_loop_to_loop_too() -> None:
    bulkhead = Bulkhead(BulkheadSettings(max_concurrent=1, max_queue=5, max_wait_s=0.05), name="m")
    bucket = TokenBucket(RateLimit.per_second(1000, burst=1), name="m")
    breaker = CircuitBreaker(BreakerSettings(), name="m")

    async def take() -> None:
        async with bulkhead, bucket:
            with breaker.admit():
                await asyncio.sleep(0)

    async def use_and_leave_behind() -> None:
        await asyncio.gather(*(take() for _ in range(5)))
        async with bulkhead:
            with pytest.raises(BulkheadFull):
                await bulkhead.acquire()
            waiting = asyncio.create_task(take())
            await asyncio.sleep(0)
            assert not waiting.done()

    for _ in range(3):
        asyncio.run(use_and_leave_behind())
        assert (bulkhead.running, bulkhead.waiting, bucket.waiting) == (0, 0, 0)
