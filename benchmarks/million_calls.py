"""A million calls through every policy on a virtual clock: `python -m benchmarks.million_calls`.

The source goes through good and bad times: well, flaky (5 % are 503), slow (the slots run out),
overloaded (429 with Retry-After), instant (the tokens run out), hung, down. Hedges are sent against
slow answers, and a fallback answers in place of failures that are left. At each request that it
receives, the simulation checks what the policies promise:

- rate limit: no window of t seconds has seen more than burst + rate·t requests
- adaptive limit: no request without a slot, and never more slots taken than its most
- breaker: nothing is sent while the circuit is open, one trial at a time while it is half-open,
  hedges included

and at the end the identities between the statistics. Prints how long it took.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from random import Random

import httpx
import stamina

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    Fallback,
    HedgeSettings,
    Pipeline,
    Policies,
    RateLimit,
    ResilienceError,
    RetryBudget,
    RetrySettings,
    SourceStatistics,
)
from resilience.testing import VirtualClockLoop

CALLS = 1_000_020  # at least a million, and the workers share them evenly
WORKERS = 60
RATE_PER_S, BURST, MAX_SLOTS = 10_000, 200, 40
OK, FAILED = httpx.Response(200, content=b""), httpx.Response(503, content=b"")
STALE = httpx.Response(203, content=b"")
SLOW_DOWN = httpx.Response(429, headers={"retry-after": "1"}, content=b"")
POLICIES = Policies(
    fallback=Fallback(
        answer=lambda _request, _failure: STALE,
        when=lambda outcome: outcome in (FAILED, SLOW_DOWN),  # what is refused pauses its caller
    ),
    total_timeout_s=2.0,
    retry=RetrySettings(max_retries=2, base_delay_s=0.02, budget=RetryBudget()),
    hedge=HedgeSettings(delay_s=0.05),
    adaptive=AdaptiveSettings(initial_limit=30, min_limit=20, max_limit=MAX_SLOTS),
    rate_limit=RateLimit.per_second(RATE_PER_S, burst=BURST, max_wait_s=1.0),
    breaker=BreakerSettings(failure_ratio=0.5, minimum_throughput=20, sampling_s=0.5, break_s=0.5),
    attempt_timeout_s=0.25,
)
PHASES = (
    *("well", "flaky", "well", "slow", "well", "overloaded"),
    *("well", "instant", "well", "hung", "well", "down"),
)
PHASE_S = 1.0
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What came of a simulation.

    Attributes:
        counted: The statistics.
        requests: That the source received, by phase.
        limits: That the adaptive limit has come to, by how many requests were sent under each.
        stale: Calls that the fallback answered.
        virtual_s: Virtual seconds that passed.
    """

    counted: SourceStatistics
    requests: Counter[str]
    limits: Counter[int]
    stale: int
    virtual_s: float


class Source:
    """Answers according to the phase, and checks each request against the promises."""

    def __init__(self, random: Random, phase_s: float) -> None:
        self._random = random
        self._phase_s = phase_s
        self._level = 0.0  # of a leaky bucket: what the window law allows at any moment
        self._seen_at_s = 0.0
        self._running = self._trials = 0
        self.pipeline = Pipeline(POLICIES, source="simulated", random=random)
        self.requests: Counter[str] = Counter()
        self.limits: Counter[int] = Counter()
        self.stale = 0

    async def __call__(self) -> httpx.Response:
        """Answer one request."""
        now_s = asyncio.get_running_loop().time()
        trial = self._check(now_s)
        self._running += 1
        self._trials += trial
        try:
            return await self._answer(PHASES[int(now_s / self._phase_s) % len(PHASES)])
        finally:
            self._running -= 1
            self._trials -= trial

    def _check(self, now_s: float) -> bool:
        """Check the promises; return whether this request is a trial."""
        leaked = (now_s - self._seen_at_s) * RATE_PER_S
        self._level, self._seen_at_s = max(0.0, self._level - leaked) + 1, now_s
        assert self._level <= BURST + ROUNDING, "the rate limit was exceeded"
        assert self.pipeline.adaptive is not None
        assert self.pipeline.breaker is not None
        taken = self.pipeline.adaptive.slots.running
        assert self._running < taken <= MAX_SLOTS, "a request without a slot, or too many slots"
        self.limits[self.pipeline.adaptive.limit] += 1
        if self.pipeline.breaker.closed:
            return False
        assert self.pipeline.breaker.state == "half-open", "sent through an open circuit"
        assert not self._trials, "two trials at once"
        return True

    async def _answer(self, phase: str) -> httpx.Response:
        self.requests[phase] += 1
        draw = self._random.random()
        if phase == "down" or (phase == "flaky" and draw < 0.05):
            return FAILED
        if phase == "overloaded" and draw < 0.001:
            return SLOW_DOWN
        if phase == "slow" or (draw > 0.95 and phase != "instant"):
            await asyncio.sleep(60 if phase == "hung" else 0.06 * self._random.random())
        return OK


async def worker(source: Source, calls: int, random: Random) -> None:
    """Make so many calls one after the other, and something else now and then."""
    for _ in range(calls):
        refused = False
        try:
            response = await source.pipeline.run(source)
            source.stale += response.status_code == STALE.status_code
        except ResilienceError:
            refused = True
        if refused or random.random() < 0.1:
            await asyncio.sleep(0.05)


def simulate(calls: int, *, seed: int, phase_s: float = PHASE_S) -> Simulated:
    """Simulate so many calls in all, and check the identities at the end."""

    async def everybody() -> Simulated:
        random = Random(seed)
        source = Source(random, phase_s)
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(worker(source, calls // WORKERS, random))
        return Simulated(
            counted=source.pipeline.statistics(),
            requests=source.requests,
            limits=source.limits,
            stale=source.stale,
            virtual_s=asyncio.get_running_loop().time(),
        )

    with asyncio.Runner(loop_factory=lambda: VirtualClockLoop(polls=False)) as runner:
        simulated = runner.run(everybody())
    counted = simulated.counted
    tries = counted.attempts + counted.rejects
    assert counted.requests == calls // WORKERS * WORKERS == counted.ok + counted.failed
    assert counted.requests + counted.retries + counted.hedges == tries
    assert counted.attempts == simulated.requests.total()
    return simulated


def main() -> None:
    """Simulate, and print what happened and how long it took."""
    stamina.instrumentation.set_on_retry_hooks([])  # one warning a retry otherwise
    started_s, spent_s = time.perf_counter(), time.process_time()
    simulated = simulate(CALLS, seed=1)
    took_s, spent_s = time.perf_counter() - started_s, time.process_time() - spent_s
    calls = simulated.counted.requests
    print(simulated.counted)
    print(f"requests by phase: {dict(simulated.requests)}")
    print(f"requests by adaptive limit: {dict(sorted(simulated.limits.items()))}")
    print(f"answered by the fallback: {simulated.stale:,} calls")
    print(f"{calls:,} calls, {simulated.virtual_s:,.0f} virtual seconds, in {took_s:.1f} s")
    print(f"{spent_s:.1f} s of processor time, {spent_s / calls * 1e6:.1f} us a call")


if __name__ == "__main__":
    main()
