"""What `statistics()` says to a handler: all that has been told by then, the event in hand too."""

import asyncio
from collections import Counter
from random import Random

import httpx
import pytest

import resilience
from resilience import (
    AdaptiveSettings,
    AttemptFailed,
    AttemptStarted,
    BreakerSettings,
    CallEnded,
    CallRejected,
    CallStarted,
    CircuitOpened,
    Event,
    Fallback,
    GaveUp,
    GaveUpReason,
    HedgeSettings,
    HedgeStarted,
    Policies,
    QueueRejected,
    RateLimit,
    RateLimitDelayed,
    RetryBudget,
    RetrySettings,
)
from tests.resilience.script import Script, Told, response
from tests.resilience.test_pipeline_properties import check_identities

pytestmark = pytest.mark.virtual_clock

STEPS = (200, 200, 200, 404, 0.05, 0.1, 0.3, 0.9, 500, 429, httpx.ReadError("reset"))
KINDS = {
    kind
    for name in resilience.__all__
    if isinstance(kind := getattr(resilience, name), type)
    and issubclass(kind, Event)
    and not kind.__subclasses__()
}


def everything(chance: Random) -> Policies:
    """Return all policies, with a fallback that fails every other time."""
    return Policies(
        fallback=Fallback(answer=lambda _request, _failure: chance.choice([response(203), None])),  # type: ignore[arg-type,return-value]
        total_timeout_s=2,
        retry=RetrySettings(
            max_retries=2,
            base_delay_s=0.2,
            budget=RetryBudget(ratio=0.2, min_per_s=0.5, window_s=5),
        ),
        hedge=HedgeSettings(delay_s=0.2),
        adaptive=AdaptiveSettings(initial_limit=8, max_queue=3, max_wait_s=0.4),
        rate_limit=RateLimit.per_second(20, burst=5, max_queue=6, max_wait_s=0.5),
        breaker=BreakerSettings(failure_ratio=0.5, minimum_throughput=5, sampling_s=1, break_s=0.5),
        attempt_timeout_s=0.5,
    )


class Tally:
    """Compares the statistics with what it has heard, at each event."""

    def __init__(self, told: Told) -> None:
        self.heard: Counter[type[Event]] = Counter()
        self.waited_s = 0.0
        self.http_429 = self.suppressed = 0
        self._pipeline = told.pipeline

    def __call__(self, event: Event) -> None:
        """Check; what fails here is logged, and the kind left uncounted."""
        kind = type(event)
        expected = self.heard + Counter([kind])
        self.http_429 += isinstance(event, AttemptFailed) and event.cause == 429
        self.waited_s += event.waited_s if isinstance(event, RateLimitDelayed) else 0
        suppressed = GaveUpReason.SUPPRESSED_BY_BUDGET
        self.suppressed += isinstance(event, GaveUp) and event.reason is suppressed
        self._check(expected, event)
        self.heard = expected

    def _check(self, heard: Counter[type[Event]], event: Event) -> None:
        counted = self._pipeline.statistics()
        check_identities(counted)
        assert counted.in_flight >= 0
        assert self._pipeline.bucket is not None
        assert counted.waiting >= self._pipeline.bucket.waiting
        assert counted.requests == heard[CallStarted]
        assert counted.ok + counted.failed == heard[CallEnded]
        assert counted.attempts == heard[AttemptStarted]
        assert counted.hedges == heard[HedgeStarted]
        assert counted.circuit_rejects == heard[CallRejected]
        assert counted.queue_rejects == heard[QueueRejected]
        assert counted.circuit_opened == heard[CircuitOpened]
        assert counted.rate_limit_waits == heard[RateLimitDelayed]
        assert counted.rate_limit_wait_s == self.waited_s
        assert (counted.http_429, counted.retries_suppressed) == (self.http_429, self.suppressed)
        if isinstance(event, CallEnded):
            assert counted.finished_at_s == event.at_s


async def one_call(told: Told, chance: Random) -> None:
    script = Script(*chance.choices(STEPS, k=4))
    call = asyncio.create_task(told.run(script))
    if chance.random() < 0.1:
        asyncio.get_running_loop().call_later(chance.random(), call.cancel)
    await asyncio.wait([call])


async def test_the_identities_hold_inside_every_kind_of_event_of_a_busy_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chance = Random(7)
    told = Told(everything(chance))
    tally = Tally(told)
    told.subscribers.add(tally)
    async with asyncio.TaskGroup() as calls:
        for _ in range(600):
            calls.create_task(one_call(told, chance))
            await asyncio.sleep(chance.expovariate(15))
    assert not caplog.records, caplog.records[0].exc_text
    assert {kind.__name__ for kind in KINDS - tally.heard.keys()} == set()
    assert told.pipeline.statistics().waiting == 0
