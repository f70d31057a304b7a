"""How often the cache of rates goes to Redis, on virtual time."""

import asyncio
import itertools
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from front.rate import Rate
from front.rate_cache import PAUSE_S, WRITE_EVERY_S, RateCache

pytestmark = pytest.mark.virtual_clock


async def pauses_between_writes(
    monkeypatch: pytest.MonkeyPatch, *, failure: Exception | None
) -> list[float]:
    """Keep a rate every 5 ms for 5 s, and return the seconds from write to write."""
    loop, written_at_s = asyncio.get_running_loop(), list[float]()
    cache = RateCache("redis://127.0.0.1:1", timeout_s=0.1)

    async def write(_: object) -> None:
        written_at_s.append(loop.time())
        await asyncio.sleep(0)
        if failure is not None:
            raise failure

    monkeypatch.setattr(cache._redis, "mset", write)
    async with cache.writing():
        for _ in range(1000):
            cache.keep(Rate(code="USD", value=Decimal("41.2"), at=datetime.now(UTC)))
            await asyncio.sleep(0.005)
    ended_at_s = loop.time()
    written_at_s = [moment for moment in written_at_s if moment < ended_at_s]  # not the last word
    return [after - before for before, after in itertools.pairwise(written_at_s)]


async def test_a_failing_redis_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses_s = await pauses_between_writes(monkeypatch, failure=RedisConnectionError("refused"))

    assert len(pauses_s) in {4, 5}
    assert pauses_s == pytest.approx([PAUSE_S] * len(pauses_s))


async def test_a_good_redis_is_written_to_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses_s = await pauses_between_writes(monkeypatch, failure=None)

    assert min(pauses_s) >= WRITE_EVERY_S - 1e-9
    assert len(pauses_s) <= 5 / WRITE_EVERY_S
