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
    CallRejected,
    Policies,
    RetryScheduled,
    RetrySettings,
)
from tests.resilience.script import Script, Step, Told
from tests.virtual_clock import VirtualClockLoop

TOTAL_S = 1.0
STEPS: list[Step] = [200, 404, 429, 500, 0.1, 0.299, 0.4, httpx.ConnectError("refused")]

policies = st.builds(
    Policies,
    total_timeout_s=st.sampled_from([None, TOTAL_S]),
    attempt_timeout_s=st.sampled_from([None, 0.3]),
    retry=st.none()
    | st.builds(
        RetrySettings, max_retries=st.integers(1, 3), base_delay_s=st.sampled_from([0, 0.05, 0.5])
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


@settings(max_examples=150, deadline=None)
@given(policies, st.lists(calls, min_size=1, max_size=8))
def test_every_attempt_is_accounted_for_and_no_call_outlives_its_limit(
    guards: Policies, wanted: list[tuple[float, list[Step], float | None]]
) -> None:
    scripts = [Script(*steps) for _, steps, _ in wanted]

    async def all_calls() -> tuple[Told, list[float]]:
        told = Told(guards)

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
    assert started + len(told.heard(CallRejected)) <= len(wanted) + len(told.heard(RetryScheduled))
    if guards.total_timeout_s is not None:
        assert max(took_s) <= TOTAL_S + 1e-9
