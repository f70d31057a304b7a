import asyncio
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    AttemptTimeout,
    BreakerSettings,
    CircuitOpen,
    Fallback,
    Policies,
    ResilientClient,
    RetryBudget,
    RetrySettings,
    Source,
    TotalTimeout,
    Trip,
)
from resilience.fallback import Failure
from resilience.source import overridden

pytestmark = pytest.mark.virtual_clock

POLICIES = Policies(
    total_timeout_s=10,
    retry=RetrySettings(max_retries=1, base_delay_s=0),
    breaker=BreakerSettings(failure_ratio=None, consecutive_failures=3),
    attempt_timeout_s=2,
)


class Slow:
    """Answers with a status after a delay."""

    def __init__(self, status: int = 200, delay_s: float = 0.0) -> None:
        self.status, self.delay_s, self.requests = status, delay_s, 0

    async def __call__(self, _: httpx.Request) -> httpx.Response:
        """Answer."""
        self.requests += 1
        await asyncio.sleep(self.delay_s)
        return httpx.Response(self.status)


def client_of(server: Slow, policies: Policies = POLICIES) -> ResilientClient:
    source = Source(name="rates", base_url="http://rates.test", policies=policies)
    return ResilientClient([source], random=Random(1), transport=httpx.MockTransport(server))


async def test_a_call_may_have_time_outs_of_its_own() -> None:
    server = Slow(delay_s=5)
    async with client_of(server) as client:
        with pytest.raises(AttemptTimeout, match=r"within 0\.5 s"):
            await client.get("rates", "/", attempt_timeout_s=0.5)
        with pytest.raises(TotalTimeout, match=r"within 1 s"):
            await client.get("rates", "/", total_timeout_s=1)
        patient = await client.get("rates", "/", attempt_timeout_s=None, total_timeout_s=None)
    assert patient.status_code == 200


async def test_a_call_may_retry_otherwise_or_not_at_all() -> None:
    server = Slow(status=503)
    async with client_of(server) as client:
        client.reset("rates")
        await client.get("rates", "/", retry=None)
        assert server.requests == 1
        client.reset("rates")
        await client.get("rates", "/", retry=RetrySettings(max_retries=2, base_delay_s=0))
        assert server.requests == 4


async def test_calls_with_overrides_share_the_circuit_with_all_others() -> None:
    server = Slow(status=500)
    async with client_of(server) as client:
        for limit_s in (1, 3, 5):
            await client.get("rates", "/", retry=None, total_timeout_s=limit_s)
        with pytest.raises(CircuitOpen):
            await client.get("rates", "/")
    assert server.requests == 3


async def test_an_override_that_does_not_fit_the_other_policies_is_refused() -> None:
    server = Slow()
    async with client_of(server) as client:
        with pytest.raises(ValueError, match="attempt_timeout_s must be at most total_timeout_s"):
            await client.get("rates", "/", attempt_timeout_s=11)
    assert server.requests == 0


@pytest.mark.parametrize(
    "wrong", [{"total_timeout_s": "5"}, {"attempt_timeout_s": True}, {"retry": 3}], ids=str
)
async def test_an_override_of_the_wrong_type_is_refused_and_not_counted(
    wrong: Any,  # noqa: ANN401
) -> None:
    server = Slow()
    async with client_of(server) as client:
        with pytest.raises(TypeError, match=f"{next(iter(wrong))} has the wrong type"):
            await client.get("rates", "/", **wrong)
        assert client.statistics("rates").requests == 0
    assert server.requests == 0


async def test_computed_time_outs_do_not_gather_in_memory() -> None:
    async with client_of(Slow()) as client:
        for step in range(200):
            await client.get("rates", "/", total_timeout_s=10 + step)
        assert len(client._sources["rates"].pipeline._variants) <= 64


async def test_calls_with_overrides_share_the_retry_budget_with_all_others() -> None:
    """The budget bears five retries in all, and no override has one of its own."""
    server = Slow(status=500)
    budget = RetryBudget(ratio=0, min_per_s=0.5, window_s=10)
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=budget)
    source = Source(name="rates", base_url="http://rates.test", policies=Policies(retry=retry))
    async with ResilientClient(
        [source], random=Random(1), transport=httpx.MockTransport(server)
    ) as client:
        for limit_s in range(1, 11):
            await client.get("rates", "/", total_timeout_s=limit_s)
            await client.get("rates", "/", retry=replace(retry, base_delay_s=0.001 * limit_s))
        counted = client.statistics("rates")
    assert (counted.requests, counted.retries) == (20, 5)
    assert server.requests == 25


async def test_calls_share_a_budget_of_their_own_whatever_else_they_override() -> None:
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=RetryBudget(ratio=0, min_per_s=0.1))
    async with client_of(Slow(status=500), Policies()) as client:
        for number in range(50):
            await client.get("rates", "/", retry=retry, total_timeout_s=5 + number / 100)
        assert client.statistics("rates").retries == 1


async def test_calls_that_are_not_retried_are_requests_of_the_retry_budget_all_the_same() -> None:
    server = Slow(status=500)
    fifth = RetryBudget(ratio=0.2, min_per_s=0)
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=fifth)
    async with client_of(server, Policies(retry=retry)) as client:
        for _ in range(4):
            await client.get("rates", "/", retry=None)
        await client.get("rates", "/")  # five requests bear one retry
        await client.get("rates", "/")
        counted = client.statistics("rates")
    assert (counted.requests, counted.retries, counted.retries_suppressed) == (6, 1, 1)


@dataclass
class Unhashable:
    """Stands for any callable of the policies: compared by value and so without a hash."""

    answers: int = 0

    def __call__(self, *_: httpx.Request | Failure) -> httpx.Response:
        """Answer instead of the source."""
        self.answers += 1
        return httpx.Response(200)

    def is_a_failure(self, outcome: Failure) -> bool:
        """Fall back on every error."""
        return isinstance(outcome, Exception)

    def break_s(self, trip: Trip) -> float:
        """Stay open for the longer the more often the trial has failed."""
        return 1.0 + trip.half_open_trials


async def test_callables_of_the_policies_need_no_hash_for_a_call_to_replace_others() -> None:
    answer = Unhashable()
    policies = replace(
        POLICIES,
        fallback=Fallback(answer=answer, when=answer.is_a_failure),
        breaker=BreakerSettings(break_generator=answer.break_s),
    )
    async with client_of(Slow(delay_s=5), policies) as client:
        for _ in range(2):
            assert (await client.get("rates", "/", total_timeout_s=1)).status_code == 200
    assert answer.answers == 2


async def test_a_calls_own_budget_does_not_overrule_that_of_its_source() -> None:
    none = RetrySettings(
        max_retries=1, base_delay_s=0, budget=RetryBudget(ratio=0, min_per_s=0, window_s=1)
    )
    generous = replace(none, budget=RetryBudget(ratio=1, min_per_s=1_000))
    source = Source(name="rates", base_url="http://rates", policies=Policies(retry=none))
    transport = httpx.MockTransport(lambda _: httpx.Response(503))
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        await client.get("rates", "/", retry=generous)
    assert client.statistics("rates").attempts == 1


def test_a_call_that_replaces_another_policy_is_told_which_it_may_replace() -> None:
    may = "a call may replace only total_timeout_s, attempt_timeout_s and retry, got breaker, hedge"
    with pytest.raises(TypeError, match=f"^{may}$"):
        overridden(Policies(), {"hedge": None, "breaker": None})  # type: ignore[typeddict-unknown-key]
