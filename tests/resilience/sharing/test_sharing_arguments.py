"""What circuits are shared of, and what is refused; no Redis is asked."""

from collections.abc import Iterable
from random import Random
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from resilience import (
    CircuitClosed,
    CircuitOpened,
    Event,
    Policies,
    ResilientClient,
    Source,
    Subscribers,
)
from resilience.events import Handler
from resilience.shared_state import SharedCircuits, SharingSettings


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="poll_s must be in") as raised:
        SharingSettings(poll_s=0, limit_s=0, connect_limit_s=0, pause_s=0)
    assert len(str(raised.value).splitlines()) == 4


async def test_a_source_without_a_breaker_is_refused_in_words_that_say_so() -> None:
    source = Source(name="rates", base_url="http://rates", policies=Policies())
    transport = httpx.MockTransport(lambda _request: httpx.Response(200))
    redis = Redis.from_url("redis://127.0.0.1:1")
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        breaker = client.breaker("rates")
        with pytest.raises(TypeError, match="a breaker has the wrong type: got None") as raised:
            SharedCircuits(redis, [breaker], subscribe=client.subscribe)  # type: ignore[list-item]
    assert "give the policies of its source one" in str(raised.value)
    await redis.aclose()


async def test_only_changes_of_circuits_are_heard() -> None:
    heard: list[type[Event]] = []

    def subscribe(handler: Handler, kinds: Iterable[type[Event]] | None = None) -> None:
        Subscribers().add(handler, kinds)
        heard.extend(kinds or [Event])

    redis = Redis.from_url("redis://127.0.0.1:1")
    SharedCircuits(redis, [], subscribe=subscribe)
    assert heard == [CircuitOpened, CircuitClosed]
    await redis.aclose()


@pytest.mark.parametrize(
    "wrong", [{"breakers": 1}, {"subscribe": None}, {"settings": {"poll_s": 1}}]
)
async def test_what_is_of_a_wrong_kind_is_refused(wrong: dict[str, Any]) -> None:
    async with Redis.from_url("redis://127.0.0.1:1") as redis:
        right: dict[str, Any] = {"redis": redis, "breakers": [], "subscribe": Subscribers().add}
        with pytest.raises(TypeError, match=f"{next(iter(wrong))} has the wrong type: got"):
            SharedCircuits(**right | wrong)
