"""The scenario as those see it who play it over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle
from random import Random

from examples.resilience_demo.caller import Caller
from examples.resilience_demo.http_server import Answer, Reply, serving
from examples.resilience_demo.scenario import PlannedRequest
from examples.resilience_demo.servers import CRYPTO, WEATHER, CryptoExchange, Weather
from examples.resilience_demo.service import Restartable

NOWHERE = "http://127.0.0.1:1"
PRICE = PlannedRequest(at_s=0.0, source=CRYPTO, path="/prices/1")
FORECAST = PlannedRequest(at_s=0.05, source=WEATHER, path="/days/1")


def in_turn() -> Iterator[PlannedRequest]:
    return cycle([PRICE, FORECAST])


def server_of(source: str) -> Answer:
    clock = asyncio.get_running_loop().time
    if source == CRYPTO:
        return Restartable(lambda: CryptoExchange(clock, Random(1)))
    return Restartable(lambda: Weather(clock))


@asynccontextmanager
async def caller_of(weather: Answer, said: list[str]) -> AsyncIterator[Caller]:
    async with serving(server_of(CRYPTO)) as crypto_url, serving(weather) as weather_url:
        yield Caller(
            crypto_url=crypto_url, weather_url=weather_url, seed=1, write=said.append, plan=in_turn
        )


async def outcomes(caller: Caller, calls: int) -> list[object]:
    replies = await asyncio.gather(*(caller("/call") for _ in range(calls)))
    return [reply.body["outcome"] for reply in replies]


async def test_calls_that_come_together_are_a_round_of_the_plan_and_the_next_starts_anew() -> None:
    said: list[str] = []
    async with caller_of(server_of(WEATHER), said) as caller:
        assert await outcomes(caller, 4) == ["crypto_ok", "weather_ok"] * 2
        assert await outcomes(caller, 1) == ["crypto_ok"]
        assert (await caller("/stats")).body == {"attempts": 5}
    heads = [line for line in said if line.startswith("ROUND")]
    assert heads == [
        f"ROUND {number}: CryptoExchange accepts 8/s, 7% of those get 503; "
        "Weather answers 500 from 1.5 s to 4.5 s"
        for number in (1, 2)
    ]
    assert [line.split() for line in said if line.startswith("  OK")] == [
        ["OK", "2", "2"],
        ["OK", "1", "0"],
    ]


async def test_it_tells_failed_from_rejected() -> None:
    async def always_ill(target: str) -> Reply:
        return Reply(body={"trouble": "ill"}) if target == "/begin" else Reply(status=500)

    async with caller_of(always_ill, []) as caller:
        assert await outcomes(caller, 2) == ["crypto_ok", "weather_failed"]
        assert (await caller("/stats")).body == {"attempts": 1 + 3}
        # Five in a row open the circuit before the first of six has tried three times.
        assert (await outcomes(caller, 12))[1::2] == ["weather_rejected"] * 6


async def test_a_server_that_is_not_there_is_said_so_and_asked_again_by_the_next_call() -> None:
    said: list[str] = []
    async with serving(server_of(CRYPTO)) as crypto_url:
        caller = Caller(crypto_url=crypto_url, weather_url=NOWHERE, seed=1, write=said.append)
        for _ in range(2):
            reply = await caller("/call")
            assert reply.status == 503
            assert "are both servers running?" in str(reply.body["error"])
    assert said == []


async def test_other_addresses_are_not_found() -> None:
    caller = Caller(crypto_url=NOWHERE, weather_url=NOWHERE, seed=1, write=print)
    assert (await caller("/prices/1")).status == 404
