import asyncio
import heapq
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    AdaptiveConcurrency,
    AdaptiveSettings,
    AimdLimit,
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
    await load.run(10)
    load.server.served = 0
    limits = await load.run(10)

    average = sum(limits) / len(limits)
    highest = 1.3 if refuses else 2.2  # the tolerance of 2 lets a queue of one capacity be
    assert 0.8 * capacity <= average <= highest * capacity + 1
    assert load.server.served >= 0.8 * capacity * 10 / load.server.service_s


async def test_the_limit_follows_a_source_that_changes_size() -> None:
    load = Load(Server(20), AdaptiveSettings())
    await load.run(10)
    load.server.resize(5)
    smaller = (await load.run(10))[-1]
    load.server.resize(30)
    larger = (await load.run(25))[-1]
    assert 5 <= smaller <= 11
    assert 30 <= larger <= 61


async def test_a_source_that_became_slower_for_good_is_given_its_limit_back_by_a_probe() -> None:
    load = Load(Server(20), AdaptiveSettings(probe_every_s=8))
    await load.run(10)
    load.server.service_s = 0.2  # as many at once as before, each four times slower
    cut = (await load.run(4))[-1]
    regained = (await load.run(40))[-1]
    assert cut <= 28
    assert 30 <= regained <= 44


async def test_a_caller_who_does_not_reach_the_limit_learns_nothing_of_it() -> None:
    load = Load(Server(50), AdaptiveSettings(), callers=5)
    await load.run(10)
    assert load.limiter.limit == 20
    assert load.told.heard(LimitChanged) == []


async def test_changes_are_told_with_their_reason() -> None:
    load = Load(Server(8), AdaptiveSettings(initial_limit=8))
    await load.run(10)
    events = load.told.heard(LimitChanged)
    assert (events[0].source, events[0].limit, events[0].reason) == ("rates", 9, LimitReason.GREW)
    assert {event.reason for event in events} == {LimitReason.GREW, LimitReason.SLOW}
    assert all(one.limit != next_.limit for one, next_ in pairwise(events))


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
    for _ in range(20):
        await asyncio.gather(told.run(Script(step)), return_exceptions=True)
    assert [event.reason for event in told.heard(LimitChanged)] == (
        [LimitReason.OVERLOADED] if overloaded else []
    )


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


def results(limit: AimdLimit, latency_s: float | None, count: int = 20, now_s: float = 1) -> None:
    round_ = limit.round
    for _ in range(count):
        limit.record(round_, latency_s=latency_s, running=limit.slots, now_s=now_s)


def test_a_round_judges_only_calls_that_began_in_it() -> None:
    limit = AimdLimit(AdaptiveSettings(initial_limit=10))
    first = limit.round
    results(limit, 0.1)
    for _ in range(100):
        assert limit.record(first, latency_s=None, running=10, now_s=1) is None
    assert limit.limit == 10


def test_the_limit_stays_within_its_bounds() -> None:
    limit = AimdLimit(AdaptiveSettings(initial_limit=10, min_limit=8, max_limit=12))
    for _ in range(10):
        results(limit, 0.1)
    assert limit.limit == 12
    for _ in range(20):
        results(limit, None)
    assert limit.limit == limit.slots == 8


def test_a_probe_halves_the_slots_until_calls_become_no_faster_and_leaves_the_limit() -> None:
    limit = AimdLimit(AdaptiveSettings(initial_limit=20, probe_every_s=30))
    seen = [(limit.limit, limit.slots, limit.unloaded_s)]
    for now_s, latency_s in [(1, 0.4), (2, 0.2), (3, 0.19), (33, 0.3), (34, 0.2), (35, 0.21)]:
        results(limit, latency_s, now_s=now_s)
        seen.append((limit.limit, limit.slots, limit.unloaded_s))
    assert seen == [
        (20, 10, None),
        (20, 5, None),
        (20, 2, None),
        (20, 20, 0.19),  # 0.19 is not faster than 0.2 by a fifth
        (21, 10, 0.19),  # due again
        (21, 5, 0.19),
        (21, 21, 0.2),
    ]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: AdaptiveSettings(min_limit=0), "min_limit must be in 1..100000, got 0"),
        (lambda: AdaptiveSettings(initial_limit=300), "must be in this order, got 1, 300 and 200"),
        (lambda: AdaptiveSettings(backoff_ratio=1), "backoff_ratio must be in 0.5..0.99, got 1"),
        (lambda: AdaptiveSettings(latency_tolerance=1), "latency_tolerance"),
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


def test_a_clock_too_coarse_for_the_source_does_not_make_every_answer_slow() -> None:
    limit = AimdLimit(AdaptiveSettings(initial_limit=20))
    for _ in range(2_000):
        limit.record(limit.round, latency_s=0.0, running=limit.slots, now_s=0.0)
    grown = limit.limit
    for _ in range(2_000):
        limit.record(limit.round, latency_s=0.001, running=limit.slots, now_s=0.0)
    assert grown < limit.limit
