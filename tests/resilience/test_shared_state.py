import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from resilience import (
    BreakerSettings,
    CircuitBreaker,
    CircuitOpen,
    CircuitOpened,
    Event,
    OpenedElsewhere,
    Subscribers,
)
from resilience.shared_state import SharedCircuits, SharingSettings
from tests.valkey import Valkey, valkey

pytestmark = pytest.mark.integration

RULES = BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=30.0)
SOON_CS = 200
QUICK = SharingSettings(poll_s=0.05, pause_s=0.1)
BOOM = ConnectionError("boom")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path) as running:
        yield running


class Process:
    """What one process has: a breaker, its events, and a Redis client of its own."""

    def __init__(self, url: str, *, rules: BreakerSettings = RULES) -> None:
        subscribers = Subscribers()
        self.events: list[Event] = []
        subscribers.add(self.events.append)
        self.breaker = CircuitBreaker(rules, name="rates", subscribers=subscribers)
        self.redis = Redis.from_url(url, retry=Retry(NoBackoff(), 0))
        self.shared = SharedCircuits(
            self.redis, [self.breaker], subscribe=subscribers.add, settings=QUICK
        )

    @property
    def opened(self) -> list[CircuitOpened]:
        """Return how the circuit opened so far."""
        return [event for event in self.events if isinstance(event, CircuitOpened)]


@asynccontextmanager
async def processes(url: str, count: int = 2) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        started = []
        for _ in range(count):
            process = Process(url)
            stack.push_async_callback(process.redis.aclose)
            await stack.enter_async_context(process.shared.sharing())
            started.append(process)
        yield started


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(SOON_CS):
        if condition():
            return
        await asyncio.sleep(0.01)
    assert condition(), f"not within {SOON_CS / 100:g} s"


async def test_when_one_process_opens_the_others_do_so_for_the_rest_of_its_break(
    server: Valkey,
) -> None:
    async with processes(server.url, 3) as (one, *others):
        one.breaker.admit().failure(BOOM)
        await eventually(lambda: all(other.breaker.state == "open" for other in others))
        for other in others:
            with pytest.raises(CircuitOpen) as raised:
                other.breaker.admit()
            assert isinstance(raised.value.cause, OpenedElsewhere)
            assert raised.value.retry_after_s is not None
            assert 25 < raised.value.retry_after_s <= 30
        await asyncio.sleep(0.2)
        assert [len(process.opened) for process in (one, *others)] == [1, 1, 1]  # no echo


async def test_when_one_process_closes_the_others_do_so_too(server: Valkey) -> None:
    async with processes(server.url) as (one, other):
        one.breaker.admit().failure(BOOM)
        await eventually(lambda: other.breaker.state == "open")
        other.breaker.reset()
        await eventually(lambda: one.breaker.state == "closed")
        await asyncio.sleep(0.2)
        assert (one.breaker.state, other.breaker.state) == ("closed", "closed")


async def test_a_process_that_starts_later_finds_the_circuit_open(server: Valkey) -> None:
    async with processes(server.url) as (one, _):
        one.breaker.admit().failure(BOOM)
        await asyncio.sleep(0.2)
        async with processes(server.url, 1) as (late,):
            await eventually(lambda: late.breaker.state == "open")


async def test_isolation_by_hand_stays_in_its_process_and_heeds_no_other(server: Valkey) -> None:
    async with processes(server.url, 3) as (isolated, one, other):
        isolated.breaker.isolate()
        await asyncio.sleep(0.2)
        assert one.breaker.state == "closed"
        one.breaker.admit().failure(BOOM)
        await eventually(lambda: other.breaker.state == "open")
        one.breaker.reset()
        await eventually(lambda: other.breaker.state == "closed")
        assert isolated.breaker.isolated


async def test_while_redis_fails_each_process_stands_alone_and_joins_again_afterwards(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    server.stop()
    with caplog.at_level(logging.WARNING, "resilience"):
        async with processes(server.url) as (one, other):
            one.breaker.admit().failure(BOOM)
            await asyncio.sleep(0.5)
            assert (one.breaker.state, other.breaker.state) == ("open", "closed")
            server.start()
            await eventually(lambda: other.breaker.state == "open")
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2  # one a process, however often it tried
    assert "circuits are not shared while Redis fails" in messages[0]


async def test_a_redis_that_hangs_holds_no_call_back_nor_the_end_of_the_block(
    server: Valkey,
) -> None:
    async with processes(server.url) as (one, other):
        await asyncio.sleep(0.1)
        server.hang()
        started_ns = time.perf_counter_ns()
        for _ in range(1000):
            one.breaker.reset()
            one.breaker.admit().failure(BOOM)
        assert (time.perf_counter_ns() - started_ns) / 1e9 < 0.5
        await asyncio.sleep(0.3)
        server.go_on()
        await eventually(lambda: other.breaker.state == "open")
        server.hang()
        leaving_ns = time.perf_counter_ns()
    assert (time.perf_counter_ns() - leaving_ns) / 1e9 < 1
    server.go_on()


@pytest.mark.parametrize(
    "word", [b"", b"open", b"open x", b"\xff\xfe", b"half-open me 1", b"closed", b"x" * 1000]
)
async def test_what_a_stranger_wrote_there_does_no_harm(server: Valkey, word: bytes) -> None:
    async with processes(server.url) as (one, other):
        await one.redis.set("resilience:circuit:rates", word)  # without an end: never obeyed
        await asyncio.sleep(0.2)
        assert (one.breaker.state, other.breaker.state) == ("closed", "closed")
        one.breaker.admit().failure(BOOM)
        await eventually(lambda: other.breaker.state == "open")


async def test_after_random_changes_all_circuits_are_in_one_state(server: Valkey) -> None:
    chance = Random(4)
    async with processes(server.url, 3) as all_of_them:
        for _ in range(20):
            last = chance.choice(all_of_them)
            if last.breaker.state == "closed":
                last.breaker.admit().failure(BOOM)
            else:
                last.breaker.reset()
            await asyncio.sleep(chance.choice([0, 0.06, 0.2]))
        await asyncio.sleep(0.3)
        assert len({process.breaker.state for process in all_of_them}) == 1


async def test_the_blocks_own_error_passes_as_it_is(server: Valkey) -> None:
    process = Process(server.url)
    with pytest.raises(ValueError, match="mine"):
        async with process.shared.sharing():
            raise ValueError("mine")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await process.redis.aclose()


async def test_the_block_ends_at_once_whatever_redis_is_asked_at_that_moment(
    server: Valkey,
) -> None:
    chance = Random(6)
    async with asyncio.timeout(20):
        for _ in range(200):
            process = Process(server.url)
            async with process.shared.sharing():
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                await asyncio.sleep(chance.choice([0, 0.002]))
            await process.redis.aclose()


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="poll_s must be in") as raised:
        SharingSettings(poll_s=0, limit_s=0, pause_s=0)
    assert len(str(raised.value).splitlines()) == 3
