import asyncio
import heapq
import math
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    AdaptiveConcurrency,
    AdaptiveSettings,
    BulkheadFull,
    BulkheadSettings,
    LimitChanged,
    LimitReason,
    Policies,
    QueueRejected,
)
from tests.resilience.script import Script, Step, Told, response

pytestmark = pytest.mark.virtual_clock

CALLERS = 70


class Server:
    """Workers who each take the next request when they are free, or else refuse it with a 503."""

    def __init__(self, workers: int, *, refuses: bool = False) -> None:
        self.service_s = 0.05
        self.served = 0
        self._refuses = refuses
        self._random = Random(2)
        self._free_at_s = [0.0] * workers

    def resize(self, workers: int) -> None:
        """Let so many work from now on; those with most to do stay."""
        now_s = asyncio.get_running_loop().time()
        more = [now_s] * (workers - len(self._free_at_s))
        self._free_at_s = heapq.nlargest(workers, self._free_at_s + more)
        heapq.heapify(self._free_at_s)

    async def __call__(self) -> httpx.Response:
        """Serve one request."""
        now_s = asyncio.get_running_loop().time()
        if self._refuses and self._free_at_s[0] > now_s:
            await asyncio.sleep(self.service_s / 10)
            return response(503)
        work_s = self.service_s * self._random.lognormvariate(0, 0.3)
        done_at_s = max(now_s, self._free_at_s[0]) + work_s
        heapq.heapreplace(self._free_at_s, done_at_s)
        await asyncio.sleep(done_at_s - now_s)
        self.served += 1
        return response(200)


class Load:
    """Callers who each send one call after the other."""

    def __init__(self, server: Server, adaptive: AdaptiveSettings, callers: int = CALLERS) -> None:
        self.server = server
        self.told = Told(Policies(adaptive=adaptive))
        self.callers = callers

    @property
    def limiter(self) -> AdaptiveConcurrency:
        """Return the limiter of the pipeline."""
        assert self.told.pipeline.adaptive is not None
        return self.told.pipeline.adaptive

    async def run(self, for_s: float) -> list[int]:
        """Send for `for_s` seconds and return the limit as it was every 100 ms."""
        end_s = asyncio.get_running_loop().time() + for_s

        async def caller() -> None:
            while asyncio.get_running_loop().time() < end_s:
                await self.told.pipeline.run(self.server)

        limits = []
        async with asyncio.TaskGroup() as group:
            for _ in range(self.callers):
                group.create_task(caller())
            while asyncio.get_running_loop().time() < end_s:
                await asyncio.sleep(0.1)
                limits.append(self.limiter.limit)
        return limits


@pytest.mark.parametrize("capacity", [3, 10, 30])
@pytest.mark.parametrize("refuses", [False, True], ids=["queueing", "refusing"])
async def test_the_limit_finds_the_capacity_of_the_source(capacity: int, refuses: bool) -> None:
    load = Load(Server(capacity, refuses=refuses), AdaptiveSettings())
    await load.run(25)
    load.server.served = 0
    limits = await load.run(15)

    average = sum(limits) / len(limits)
    headroom = 0 if refuses else 2 * math.sqrt(capacity)
    assert 0.8 * capacity <= average <= 1.3 * capacity + headroom + 1
    assert load.server.served >= 0.85 * capacity * 15 / load.server.service_s


async def test_the_limit_follows_a_source_that_changes_size() -> None:
    load = Load(Server(20), AdaptiveSettings())
    await load.run(25)
    load.server.resize(5)
    smaller = (await load.run(10))[-1]
    load.server.resize(30)
    larger = (await load.run(15))[-1]
    assert 5 <= smaller <= 13
    assert 30 <= larger <= 55


async def test_a_source_that_became_slower_for_good_is_given_its_limit_back_by_a_probe() -> None:
    load = Load(Server(20), AdaptiveSettings(probe_every_s=8))
    await load.run(17)
    load.server.service_s = 0.2  # as many at once as before, each four times slower
    cut = (await load.run(6))[-1]
    regained = (await load.run(12))[-1]
    assert cut <= 10
    assert 20 <= regained <= 44


async def test_processes_that_share_a_source_probe_together_and_leave_it_bearable() -> None:
    server = Server(20)
    loads = [Load(server, AdaptiveSettings()) for _ in range(5)]
    limits = await asyncio.gather(*(load.run(60) for load in loads))
    assert 20 <= sum(one[-1] for one in limits) <= 80


async def test_a_caller_who_does_not_reach_the_limit_learns_nothing_of_it() -> None:
    load = Load(Server(50), AdaptiveSettings(), callers=5)
    await load.run(10)
    assert load.limiter.limit == 20
    assert load.told.heard(LimitChanged) == []


async def test_changes_are_told_with_their_reason() -> None:
    load = Load(Server(8), AdaptiveSettings(initial_limit=8))
    await load.run(30)
    load.server.service_s *= 4
    await load.run(5)
    events = load.told.heard(LimitChanged)
    assert {event.source for event in events} == {"rates"}
    assert {event.reason for event in events} == {LimitReason.GREW, LimitReason.SLOW}
    for before, after in pairwise(events):
        assert (after.limit > before.limit) == (after.reason is LimitReason.GREW)


@pytest.mark.parametrize(
    ("step", "overloaded"),
    [
        (503, True),
        (429, True),
        (504, True),
        (9.0, True),
        (httpx.ReadTimeout("slow"), True),
        (500, False),
        (httpx.ConnectError("refused"), False),
        (404, False),
        (200, False),
    ],
    ids=repr,
)
async def test_only_what_speaks_of_load_cuts_the_limit(step: Step, overloaded: bool) -> None:
    told = Told(Policies(adaptive=AdaptiveSettings(), attempt_timeout_s=1.0))
    for _ in range(15):  # a probe, and a round or two
        five = (told.run(Script(step)) for _ in range(5))
        await asyncio.gather(*five, return_exceptions=True)
    reasons = {event.reason for event in told.heard(LimitChanged)}
    assert reasons == ({LimitReason.OVERLOADED} if overloaded else set())


async def test_calls_wait_in_turn_and_the_queue_is_bounded_as_of_a_bulkhead() -> None:
    told = Told(Policies(adaptive=AdaptiveSettings(initial_limit=1, max_queue=2, max_wait_s=0.15)))
    order: list[int] = []

    async def call(number: int) -> None:
        await told.run(Script(0.1))
        order.append(number)

    outcomes = await asyncio.gather(*(call(number) for number in range(4)), return_exceptions=True)
    assert order == [0, 1]
    assert [type(outcome) for outcome in outcomes[2:]] == [BulkheadFull, BulkheadFull]
    assert len(told.heard(QueueRejected)) == 2  # the third waited in vain, the fourth found no room


async def test_it_is_usable_alone() -> None:
    limiter = AdaptiveConcurrency(AdaptiveSettings(initial_limit=2, min_limit=2), name="disk")
    for _ in range(20):
        await limiter.slots.acquire()
        limiter.begin().overloaded()
        limiter.slots.release()
    assert (limiter.limit, limiter.slots.running) == (2, 0)


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: AdaptiveSettings(min_limit=0), "min_limit must be in 1..100000, got 0"),
        (lambda: AdaptiveSettings(initial_limit=300), "must be in this order, got 1, 300 and 200"),
        (lambda: AdaptiveSettings(latency_tolerance=0.9), "latency_tolerance must be in 1..10"),
        (lambda: AdaptiveSettings(probe_every_s=0), "probe_every_s"),
        (lambda: AdaptiveSettings(max_queue=-1), "max_queue"),
        (lambda: AdaptiveSettings(max_wait_s=0), "max_wait_s"),
        (
            lambda: Policies(
                adaptive=AdaptiveSettings(), bulkhead=BulkheadSettings(max_concurrent=1)
            ),
            "leave one of them out",
        ),
    ],
)
def test_a_wrong_setting_is_refused(build: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=r".+") as raised:
        build()
    assert complaint in str(raised.value)
