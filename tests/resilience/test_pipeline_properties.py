import asyncio

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    BreakerSettings,
    BulkheadSettings,
    CallRejected,
    CircuitOpened,
    Policies,
    QueueRejected,
    RateLimit,
    RateLimitDelayed,
    RetryBudget,
    RetryScheduled,
    RetrySettings,
    SourceStatistics,
)
from resilience.testing import VirtualClockLoop
from tests.resilience.script import Script, Step, Told, response

TOTAL_S = 1.0
STEPS: list[Step] = [
    *(200, 404, 429, 500, 0.1, 0.299, 0.4),
    response(429, {"retry-after": "1"}),
    httpx.ConnectError("refused"),
    ValueError("a bug of ours"),
]

policies = st.builds(
    Policies,
    total_timeout_s=st.sampled_from([None, TOTAL_S]),
    attempt_timeout_s=st.sampled_from([None, 0.3]),
    retry=st.none()
    | st.builds(
        RetrySettings,
        max_retries=st.integers(1, 3),
        base_delay_s=st.sampled_from([0, 0.05, 0.5]),
        budget=st.sampled_from([None, RetryBudget(ratio=0.2, min_per_s=0.2, window_s=5)]),
    ),
    bulkhead=st.sampled_from(
        [None, BulkheadSettings(max_concurrent=2, max_queue=2, max_wait_s=0.25)]
    ),
    rate_limit=st.sampled_from(
        [None, RateLimit.per_second(5, burst=2, max_queue=3, max_wait_s=0.5)]
    ),
    breaker=st.none()
    | st.just(BreakerSettings(failure_ratio=0.5, minimum_throughput=3, sampling_s=5, break_s=0.5)),
)
# (begins after, plays, is cancelled after)
calls = st.tuples(
    st.sampled_from([0.0, 0.1, 0.7]),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
    st.sampled_from([None, None, 0.0, 0.05, 0.3, 0.45]),
)


async def play(told: Told, script: Script, cancel_after_s: float | None) -> float:
    """Run one call, cancel it perhaps, and return the seconds it took."""
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    task = asyncio.create_task(told.run(script))
    if cancel_after_s is not None:
        loop.call_later(cancel_after_s, task.cancel)
    await asyncio.gather(task, return_exceptions=True)  # how it ended shows in the events
    return loop.time() - started_s


def check_identities(counted: SourceStatistics) -> None:
    """Check what holds at any time."""
    assert counted.requests == counted.ok + counted.failed + counted.in_flight
    tries = counted.requests + counted.retries + counted.hedges
    assert tries == counted.attempts + counted.rejects + counted.waiting
    assert counted.cancelled <= counted.failed


def check_statistics(told: Told, calls: int) -> None:
    """Check what holds once every call has ended."""
    counted = told.pipeline.statistics()
    check_identities(counted)
    assert (counted.in_flight, counted.waiting) == (0, 0)
    assert counted.requests <= calls  # one that is cancelled before it begins is none
    assert counted.attempts == len(told.heard(AttemptStarted))
    assert counted.retries <= len(told.heard(RetryScheduled))
    assert counted.circuit_rejects == len(told.heard(CallRejected))
    assert counted.circuit_opened == len(told.heard(CircuitOpened))
    assert counted.queue_rejects == len(told.heard(QueueRejected))
    waits_s = [event.waited_s for event in told.heard(RateLimitDelayed)]
    assert counted.rate_limit_waits == len(waits_s)
    assert counted.rate_limit_wait_s == sum(waits_s)
    assert counted.http_429 == sum(event.cause == 429 for event in told.heard(AttemptFailed))
    for guard in (told.pipeline.bulkhead, told.pipeline.bucket):
        assert guard is None or guard.waiting == 0
    assert told.pipeline.bulkhead is None or told.pipeline.bulkhead.running == 0


@settings(max_examples=150, deadline=None)
@given(policies, st.lists(calls, min_size=1, max_size=8))
def test_every_attempt_is_accounted_for_and_no_call_outlives_its_limit(
    guards: Policies, wanted: list[tuple[float, list[Step], float | None]]
) -> None:
    scripts = [Script(*steps) for _, steps, _ in wanted]

    async def all_calls() -> tuple[Told, list[float]]:
        told = Told(guards)

        def watch() -> None:
            check_identities(told.pipeline.statistics())
            asyncio.get_running_loop().call_later(0.07, watch)

        watch()

        async def later(index: int) -> float:
            await asyncio.sleep(wanted[index][0])
            return await play(told, scripts[index], wanted[index][2])

        took_s = await asyncio.gather(*map(later, range(len(wanted))))
        assert len(asyncio.all_tasks()) == 1
        return told, took_s

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        told, took_s = runner.run(all_calls())

    started = len(told.heard(AttemptStarted))
    ends = (AttemptSucceeded, AttemptFailed, AttemptCancelled)
    assert started == sum(len(told.heard(end)) for end in ends)
    assert started == sum(script.requests for script in scripts)
    check_statistics(told, len(wanted))
    if guards.total_timeout_s is not None:
        assert max(took_s) <= TOTAL_S + 1e-9
