import asyncio
from random import Random

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import (
    Call,
    GaveUp,
    GaveUpReason,
    Policies,
    RetryBudget,
    RetryLayer,
    RetryLedger,
    RetryScheduled,
    RetrySettings,
)
from tests.resilience.clock import HandClock
from tests.resilience.script import Script, Told

FIFTH = RetryBudget(ratio=0.2, min_per_s=0, window_s=10)


def ledger(budget: RetryBudget, clock: HandClock, requests: int = 0) -> RetryLedger:
    made = RetryLedger(budget, clock=clock)
    for _ in range(requests):
        made.on_request()
    return made


def grants(book: RetryLedger, wanted: int) -> int:
    """Return how many of so many retries, all waiting at once, are granted."""
    return sum(book.grant() for _ in range(wanted))


def test_retries_are_granted_up_to_their_share_of_the_requests() -> None:
    assert grants(ledger(FIFTH, HandClock(), requests=50), 20) == 10


def test_a_source_that_is_called_seldom_has_its_minimum() -> None:
    seldom = RetryBudget(ratio=0.2, min_per_s=0.5, window_s=10)
    assert grants(ledger(seldom, HandClock(), requests=1), 20) == 5


def test_a_retry_that_has_begun_counts_until_it_leaves_the_window() -> None:
    clock = HandClock()
    book = ledger(RetryBudget(ratio=0, min_per_s=0.1, window_s=10), clock)
    assert book.grant()
    book.begin()
    clock.now_s = 9.9
    assert not book.grant()
    clock.now_s = 10
    assert book.grant()


def test_a_retry_that_waits_counts_however_long_it_waits() -> None:
    clock = HandClock()
    book = ledger(RetryBudget(ratio=0, min_per_s=0.1, window_s=10), clock)
    assert book.grant()
    clock.now_s = 100
    assert not book.grant()
    book.forget()
    assert book.grant()


@pytest.mark.virtual_clock
async def test_a_retry_beyond_the_budget_is_suppressed_and_told() -> None:
    retry = RetrySettings(max_retries=3, base_delay_s=0, budget=FIFTH)
    told = Told(Policies(retry=retry))
    script = Script(*[200] * 4, 500)
    for _ in range(4):
        await told.run(script)
    assert (await told.run(script)).status_code == 500
    assert script.requests == 6  # five calls bear one retry
    (end,) = told.heard(GaveUp)
    assert (end.attempt, end.cause) == (2, 500)
    assert end.reason is GaveUpReason.SUPPRESSED_BY_BUDGET
    assert told.pipeline.statistics().retries_suppressed == 1


@pytest.mark.virtual_clock
async def test_a_call_that_is_cancelled_in_its_wait_returns_its_grant() -> None:
    budget = RetryBudget(ratio=0, min_per_s=0.1, window_s=10)
    told = Told(Policies(retry=RetrySettings(base_delay_s=5, jitter=False, budget=budget)))
    first = asyncio.create_task(told.run(Script(500)))
    await asyncio.sleep(1)
    assert (await told.run(Script(500))).status_code == 500
    first.cancel()
    await asyncio.wait([first])
    assert (await told.run(Script(500, 200))).status_code == 200


@pytest.mark.virtual_clock
async def test_retries_are_of_use_alone() -> None:
    script = Script(500, httpx.ReadError("reset"), 200)
    retry = RetryLayer(RetrySettings(base_delay_s=1, jitter=False), random=Random(1))
    assert (await retry(Call("GET", script))).status_code == 200
    assert script.sent_at_s == [0, 1, 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 1.0, 7.0]), st.booleans()), max_size=60),
    st.floats(0, 1),
)
def test_retries_granted_never_exceed_their_share_of_all_requests(
    calls: list[tuple[float, bool]], ratio: float
) -> None:
    """Within one window nothing is forgotten, so the share holds over the whole run."""
    clock = HandClock()
    book = RetryLedger(RetryBudget(ratio=ratio, min_per_s=0, window_s=86_400), clock=clock)
    retries = 0
    for requests, (gap_s, fails) in enumerate(calls, start=1):
        clock.now_s += gap_s
        book.on_request()
        if fails and book.grant():
            book.begin()
            retries += 1
        assert retries <= ratio * requests


@pytest.mark.virtual_clock
async def test_a_sick_source_is_burdened_by_no_more_than_its_budget() -> None:
    retry = RetrySettings(max_retries=3, base_delay_s=0.05, budget=FIFTH)
    told = Told(Policies(retry=retry))
    script = Script(503)
    for _ in range(200):
        await told.run(script)
    assert len(told.heard(RetryScheduled)) == 40
    assert script.requests == 240
