"""Who hears of what, and for how long."""

import asyncio
from random import Random

import httpx
import pytest

from resilience import (
    BreakerSettings,
    BulkheadSettings,
    CallEnded,
    CallStarted,
    CircuitOpened,
    Event,
    Policies,
    ResilientClient,
    Source,
    Subscribers,
)

pytestmark = pytest.mark.virtual_clock


ONE_FAILURE_OPENS = BreakerSettings(failure_ratio=None, consecutive_failures=1)


def client(policies: Policies | None = None, *, status: int = 200) -> ResilientClient:
    source = Source(name="rates", base_url="http://rates", policies=policies or Policies())
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    return ResilientClient([source], random=Random(1), transport=transport)


@pytest.mark.parametrize("kinds", [None, [CallStarted, CallEnded]])
async def test_a_subscription_lasts_until_it_is_ended(kinds: list[type[Event]] | None) -> None:
    heard: list[Event] = []
    calling = client()
    end = calling.subscribe(heard.append, kinds)
    await calling.get("rates", "/")
    before = len(heard)
    end()
    end()  # does nothing
    await calling.get("rates", "/")
    assert before >= 2
    assert len(heard) == before


async def test_ending_one_subscription_leaves_the_others() -> None:
    first: list[Event] = []
    second: list[Event] = []
    calling = client()
    end = calling.subscribe(first.append, [CallEnded])
    calling.subscribe(second.append, [CallEnded])
    calling.subscribe(second.append)
    end()
    await calling.get("rates", "/")
    assert first == []
    assert [type(event) for event in second if isinstance(event, CallEnded)] == [CallEnded] * 2


async def test_a_handler_may_end_its_own_subscription_while_it_is_told() -> None:
    heard: list[Event] = []
    calling = client()

    def once(event: Event) -> None:
        heard.append(event)
        end()

    end = calling.subscribe(once, [CallStarted])
    for _ in range(3):
        await calling.get("rates", "/")
    assert len(heard) == 1


async def test_a_kind_that_is_named_twice_is_heard_once() -> None:
    heard: list[Event] = []
    calling = client()
    calling.subscribe(heard.append, [CallEnded, CallEnded])
    await calling.get("rates", "/")
    assert len(heard) == 1


def test_nobody_listens_any_more_when_all_have_ended() -> None:
    subscribers = Subscribers()
    ends = [subscribers.add(print), subscribers.add(print, [CallEnded, CallStarted])]
    assert subscribers.listen
    for end in ends:
        end()
    assert not subscribers.listen


async def test_a_handler_hears_the_kinds_that_it_asked_for_and_no_others() -> None:
    every, some = list[Event](), list[Event]()
    calling = client(Policies(breaker=ONE_FAILURE_OPENS), status=500)
    calling.subscribe(some.append, [CircuitOpened])
    await calling.get("rates", "/")
    calling.reset("rates")
    calling.subscribe(every.append)
    await calling.get("rates", "/")
    assert [type(event) for event in some] == [CircuitOpened, CircuitOpened]
    assert len(every) > len(some)


async def test_a_handler_that_raises_a_cancellation_cancels_nothing() -> None:
    def touchy(_: CircuitOpened) -> None:
        raise asyncio.CancelledError

    one_at_a_time = BulkheadSettings(max_concurrent=1)
    calling = client(Policies(bulkhead=one_at_a_time, breaker=ONE_FAILURE_OPENS), status=500)
    calling.subscribe(touchy, [CircuitOpened])
    assert (await calling.get("rates", "/")).status_code == 500
    calling.reset("rates")
    assert (await calling.get("rates", "/")).status_code == 500  # the slot is free again
