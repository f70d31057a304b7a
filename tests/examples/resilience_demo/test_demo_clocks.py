"""The weather falls ill when the timeline says so, however long it takes to set a round up."""

import asyncio
import io
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import stamina.instrumentation

from examples.resilience_demo import __main__ as command
from examples.resilience_demo import round as round_of_demo
from examples.resilience_demo.caller import Caller
from examples.resilience_demo.http_server import serving
from examples.resilience_demo.output import Output
from examples.resilience_demo.scenario import PlannedRequest
from examples.resilience_demo.servers import ILL_FROM_S, WEATHER, CryptoExchange, Weather
from examples.resilience_demo.service import Restartable
from resilience import ResilientClient
from resilience.testing import VirtualClockLoop
from tests.resilience.clock import HandClock

pytestmark = pytest.mark.virtual_clock

SETTING_UP_S = 0.2
OF_A_500 = re.compile(r"^\+ *(\d+\.\d{3})s Weather .* HTTP 500 ", re.MULTILINE)


class SlowlyMadeClient(ResilientClient):
    """Takes its time, as TLS contexts do."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualClockLoop)
        loop.now_s += SETTING_UP_S


@pytest.fixture(autouse=True)
def slow_and_quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(round_of_demo, "ResilientClient", SlowlyMadeClient)
    stamina.instrumentation.set_on_retry_hooks([])
    yield
    stamina.instrumentation.set_on_retry_hooks(None)


async def test_the_demo_tells_of_no_500_before_the_weather_falls_ill() -> None:
    told = io.StringIO()
    assert await command._play(1, Output(told), colour=False) == []
    first_s = min(float(at_s) for at_s in OF_A_500.findall(told.getvalue()))
    assert ILL_FROM_S <= first_s < ILL_FROM_S + 0.2


@pytest.mark.parametrize(
    ("at_s", "outcome"), [(ILL_FROM_S - 0.05, "weather_ok"), (ILL_FROM_S + 0.05, "weather_failed")]
)
async def test_nor_does_the_caller(at_s: float, outcome: str) -> None:
    clock = asyncio.get_running_loop().time
    gathering_s = 0.5  # which the caller adds to the times of its plan
    forecast = PlannedRequest(at_s=at_s - gathering_s, source=WEATHER, path="/days/1")
    async with (
        serving(Restartable(lambda: CryptoExchange(clock, Random(1)))) as crypto_url,
        serving(Restartable(lambda: Weather(clock))) as weather_url,
    ):
        caller = Caller(
            crypto_url=crypto_url,
            weather_url=weather_url,
            seed=1,
            write=str,
            plan=lambda: iter([forecast]),
        )
        assert (await caller("/call")).body == {"outcome": outcome}


async def test_the_weathers_life_can_begin_anew() -> None:
    clock = HandClock()
    weather = Weather(clock)
    clock.now_s = 2.0
    weather.begin()
    assert (await weather("/")).status == 200
    clock.now_s = 3.5
    assert (await weather("/")).status == 500
