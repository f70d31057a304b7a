"""A hedge's delay that is learnt from the latest answers."""

import asyncio
from random import Random

import httpx
import pytest

from resilience import HedgeSettings, HedgeStarted, Policies, ResilientClient, Source
from tests.resilience.script import Script, Told

pytestmark = pytest.mark.virtual_clock


async def test_a_learnt_delay_is_the_percentile_of_the_latest_answers() -> None:
    told = Told(Policies(hedge=HedgeSettings(percentile=95, min_delay_s=0.01)))
    for _ in range(19):
        await told.run(Script(0.1))
    slow = Script(5.0)
    await told.run(slow)  # too little is known yet
    assert slow.requests == 1
    slow = Script(5.0, 0.05)
    await told.run(slow)
    assert slow.sent_at_s[1] - slow.sent_at_s[0] == pytest.approx(0.101)


async def test_answers_that_all_take_equally_long_are_not_beyond_their_percentile() -> None:
    told = Told(Policies(hedge=HedgeSettings(percentile=50)))
    for _ in range(300):
        await told.run(Script(0.1))
    assert told.heard(HedgeStarted) == []


async def test_a_learnt_delay_has_a_floor() -> None:
    told = Told(Policies(hedge=HedgeSettings(min_delay_s=0.02)))
    for _ in range(20):
        await told.run(Script(0.001))
    slow = Script(5.0, 0.05)
    await told.run(slow)
    assert slow.sent_at_s[1] - slow.sent_at_s[0] == pytest.approx(0.02)


async def test_failures_do_not_make_a_source_look_fast() -> None:
    told = Told(Policies(hedge=HedgeSettings()))
    for _ in range(50):
        await told.run(Script(500))
    slow = Script(1.0)
    await told.run(slow)
    assert slow.requests == 1


@pytest.mark.parametrize(
    ("slow_share", "slow_s", "enough"),
    [
        pytest.param(1.0, 0.5, 0.01, id="all-became-slow"),
        pytest.param(0.2, 1.0, 0.01, id="one-in-five-is-slow"),
        pytest.param(0.03, 1.0, 0.02, id="few-are-slow"),
    ],
)
async def test_a_learnt_delay_hedges_about_one_call_in_twenty_however_slow_the_source_becomes(
    slow_share: float, slow_s: float, enough: float
) -> None:
    """Cancelled attempts count with the time they ran, or the slow would always be hedged."""
    told, chance = Told(Policies(hedge=HedgeSettings())), Random(5)

    async def call(slow: bool) -> None:
        first_s = (slow_s if slow else 0.1) * chance.uniform(0.9, 1.1)
        await told.run(Script(first_s, 0.1 * chance.uniform(0.9, 1.1)))

    for _ in range(200):
        await call(False)
    for _ in range(1000):
        await call(chance.random() < slow_share)
    before = len(told.heard(HedgeStarted))
    for _ in range(1000):
        await call(chance.random() < slow_share)
    assert enough < (len(told.heard(HedgeStarted)) - before) / 1000 < 0.08


async def test_calls_learn_from_each_other_whatever_they_override() -> None:
    asked = 0

    async def sometimes_slow(_: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(1.0 if asked % 50 == 0 else 0.02)
        return httpx.Response(200)

    hedge = HedgeSettings(percentile=90)
    source = Source(name="s", base_url="http://s", policies=Policies(hedge=hedge))
    transport = httpx.MockTransport(sometimes_slow)
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        for number in range(120):
            await client.get("s", "/", total_timeout_s=5 + number / 100)
        assert client.statistics("s").hedges > 0
