"""In whose context hedges and shared timers run."""

import asyncio
import gc
import weakref
from contextvars import ContextVar

import httpx
import pytest

from resilience import (
    BulkheadSettings,
    Event,
    HedgeSettings,
    Policies,
    RateLimit,
)
from resilience.events import CallEvent
from tests.resilience.script import Script, Told, response

pytestmark = pytest.mark.virtual_clock

AFTER_100_MS = HedgeSettings(delay_s=0.1)
WHO = ContextVar("WHO", default="nobody")


async def visit(told: Told, name: str, begin_s: float, script: Script) -> None:
    await asyncio.sleep(begin_s)
    WHO.set(name)
    await told.run(script)


async def test_a_hedge_and_its_events_belong_to_the_context_of_its_own_call() -> None:
    told, sent_for, heard = Told(Policies(hedge=AFTER_100_MS)), list[str](), set[tuple[int, str]]()

    def hear(event: Event) -> None:
        assert isinstance(event, CallEvent)
        heard.add((event.request_id, WHO.get()))

    def answer() -> httpx.Response:
        sent_for.append(WHO.get())
        return response(200)

    told.subscribers.add(hear)
    async with asyncio.TaskGroup() as visits:
        for number, name in enumerate(["anna", "bert", "cora"]):
            visits.create_task(visit(told, name, number / 100, Script(9.0, answer)))
    assert sent_for == ["anna", "bert", "cora"]
    assert heard == {(1, "anna"), (2, "bert"), (3, "cora")}


async def test_what_one_attempt_sets_another_of_its_call_does_not_see() -> None:
    seen = []

    async def send() -> httpx.Response:
        seen.append(WHO.get())
        WHO.set("an attempt")
        await asyncio.sleep(0.35)
        return response(200)

    told = Told(Policies(hedge=HedgeSettings(delay_s=0.1, max_hedges=2)))
    WHO.set("the caller")
    await told.pipeline.run(send)
    assert seen == ["the caller"] * 3


class Session:
    """What a caller keeps in its context."""


SESSION: ContextVar[Session] = ContextVar("SESSION")


@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(Policies(hedge=AFTER_100_MS), id="hedge"),
        pytest.param(Policies(hedge=HedgeSettings(delay_s=0.03)), id="hedged"),
        pytest.param(Policies(attempt_timeout_s=0.1), id="attempt-time-out"),
        pytest.param(Policies(total_timeout_s=0.1), id="total-time-out"),
        pytest.param(Policies(bulkhead=BulkheadSettings(max_concurrent=2)), id="bulkhead"),
        pytest.param(Policies(rate_limit=RateLimit.per_second(40, burst=1)), id="rate-limit"),
    ],
)
async def test_a_call_that_is_over_leaves_its_context_to_the_collector_while_traffic_goes_on(
    policies: Policies,
) -> None:
    """A timer that each call hands on to the next keeps none of their contexts."""
    told, sessions = Told(policies), list[weakref.ref[Session]]()

    async def visit_with_session() -> None:
        session = Session()
        sessions.append(weakref.ref(session))
        SESSION.set(session)
        await told.run(Script(0.05))

    async with asyncio.TaskGroup() as visits:
        for _ in range(100):
            visits.create_task(visit_with_session())
            await asyncio.sleep(0.02)
        gc.collect()
        assert 0 < told.pipeline.statistics().in_flight < 40
        assert [session() for session in sessions[:50]] == [None] * 50
