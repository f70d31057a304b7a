"""Circuits shared over a link to Redis that is slow or cut, and beside keys that are not ours."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from fault_proxy import BlackHole, Latency, Proxy
from resilience import BreakerSettings, CircuitBreaker, Subscribers
from resilience.shared_state import SharedCircuits, SharingSettings
from tests.resilience.sharing.processes import (
    IMPATIENT,
    KEY,
    QUICK,
    RULES,
    eventually,
    exchanged,
    processes,
)
from tests.valkey import Valkey

pytestmark = pytest.mark.integration


@pytest.fixture
async def link(server: Valkey) -> AsyncIterator[Proxy]:
    async with Proxy("127.0.0.1:0", f"127.0.0.1:{server.port}", seed=1) as proxy:
        yield proxy


def url(link: Proxy) -> str:
    host, port = link.address
    return f"redis://{host}:{port}/0"


async def test_a_redis_that_is_far_away_is_no_redis_that_is_away(
    server: Valkey, link: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that is 35 ms away is for the defaults; ten times as slow, lest a stall count."""
    link.apply(Latency(delay_ms=175))
    patient = SharingSettings(poll_s=0.05, limit_s=1, connect_limit_s=20)
    async with processes(url(link), server.url, settings=patient) as (far, near):
        far.fail()
        await eventually(lambda: near.state == "open")
        near.close_by_trial()
        await eventually(lambda: far.state == "closed")
    assert caplog.messages == []


@pytest.mark.parametrize("break_s", [0.5, 30.0])  # over when Redis is back, or not
async def test_after_an_outage_an_older_word_closes_no_circuit_that_opened_since(
    server: Valkey, link: Proxy, break_s: float
) -> None:
    rules = BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=break_s)
    async with processes(server.url, url(link), rules=rules, settings=IMPATIENT) as (one, cut_off):
        await exchanged(one, cut_off)
        outage = link.apply(BlackHole())
        one.fail()
        await exchanged(one)
        one.close_by_trial()
        await exchanged(one)
        assert cut_off.state == "closed"
        cut_off.fail()
        await eventually(lambda: cut_off.alone)
        if break_s < 1:
            await asyncio.sleep(break_s)
        link.end(outage.id)
        await eventually(lambda: not cut_off.alone)
        await exchanged(one, cut_off)
        assert cut_off.state == "open"
        if one.state == "closed":  # it never heard of an opening that is over
            one.fail()
        one.close_by_trial()
        await eventually(lambda: cut_off.state == "closed")  # that is news


async def test_after_an_outage_an_older_opening_does_not_outweigh_a_trial_that_did_well_since(
    server: Valkey, link: Proxy
) -> None:
    async with processes(server.url, url(link), settings=IMPATIENT) as (one, cut_off):
        await exchanged(one, cut_off)
        outage = link.apply(BlackHole())
        cut_off.fail()
        await eventually(lambda: cut_off.alone)
        one.fail()
        one.close_by_trial()
        await exchanged(one)
        link.end(outage.id)
        await eventually(lambda: cut_off.state == "closed")
        assert len(one.opened) == 1


async def test_a_key_of_another_type_stops_the_sharing_of_its_own_circuit_only(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    def share(redis: Redis) -> tuple[SharedCircuits, CircuitBreaker, CircuitBreaker]:
        told = Subscribers()
        rates, other = (
            CircuitBreaker(RULES, name=name, subscribers=told) for name in ("rates", "other")
        )
        return (
            SharedCircuits(redis, [rates, other], subscribe=told.add, settings=QUICK),
            rates,
            other,
        )

    async with Redis.from_url(server.url) as redis:
        await redis.lpush(KEY, "not ours")
        (one, one_rates, one_other), (two, two_rates, two_other) = share(redis), share(redis)
        async with one.sharing(), two.sharing():
            one_other.admit().failure(ConnectionError("boom"))
            one_rates.admit().failure(ConnectionError("boom"))
            await eventually(lambda: two_other.state == "open")
            await exchanged(one, two)
            assert two_rates.state == "closed"
            assert await redis.lrange(KEY, 0, -1) == [b"not ours"]
            warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
            assert len(warnings) == 2  # one a process, however often it was read
            assert f"the circuit at {KEY!r} is not shared: WRONGTYPE" in caplog.messages[0]

            await redis.delete(KEY)
            await eventually(lambda: two_rates.state == "open")


async def test_a_redis_that_answers_nothing_it_may_be_asked_counts_as_away(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    with server.client() as admin:
        admin.acl_setuser("narrow", enabled=True, nopass=True, commands=["+get"], keys=["*"])
    narrow = server.url.replace("redis://", "redis://narrow:x@")
    async with processes(narrow) as (refused,):
        await exchanged(refused)
    assert len(caplog.messages) == 1
    assert "circuits are not shared while Redis fails: NoPermissionError" in caplog.messages[0]
