"""A million calls through every policy on a virtual clock: `python -m benchmarks.million_calls`.

The source goes through good and bad times: well, flaky (5 % are 503), slow (the slots run out),
overloaded (429 with Retry-After), instant (the tokens run out), hung, down. At each request that
it receives, the simulation checks what the policies promise:

- rate limit: no window of t seconds has seen more than burst + rate·t requests
- bulkhead: no more requests than slots are under way
- breaker: nothing is sent while the circuit is open, one trial at a time while it is half-open

and at the end the identities between the statistics. Prints how long it took.
"""

import asyncio
import time
from collections import Counter
from random import Random

import httpx
import stamina

from resilience import (
    BreakerSettings,
    BulkheadSettings,
    Pipeline,
    Policies,
    RateLimit,
    ResilienceError,
    RetryBudget,
    RetrySettings,
    SourceStatistics,
)
from tests.virtual_clock import VirtualClockLoop

CALLS = 1_000_020  # at least a million, and the workers share them evenly
WORKERS = 60
RATE_PER_S, BURST, SLOTS = 10_000, 200, 40
POLICIES = Policies(
    total_timeout_s=2.0,
    retry=RetrySettings(max_retries=2, base_delay_s=0.02, budget=RetryBudget()),
    bulkhead=BulkheadSettings(max_concurrent=SLOTS),
    rate_limit=RateLimit.per_second(RATE_PER_S, burst=BURST, max_wait_s=1.0),
    breaker=BreakerSettings(failure_ratio=0.5, minimum_throughput=20, sampling_s=0.5, break_s=0.5),
    attempt_timeout_s=0.25,
)
PHASES = (
    *("well", "flaky", "well", "slow", "well", "overloaded"),
    *("well", "instant", "well", "hung", "well", "down"),
)
PHASE_S = 1.0
OK, FAILED = httpx.Response(200, content=b""), httpx.Response(503, content=b"")
SLOW_DOWN = httpx.Response(429, headers={"retry-after": "1"}, content=b"")
ROUNDING = 1e-6


class Source:
    """Answers according to the phase, and checks each request against the promises."""

    def __init__(self, random: Random, phase_s: float) -> None:
        self._random = random
        self._phase_s = phase_s
        self._level = 0.0  # of a leaky bucket: what the window law allows at any moment
        self._seen_at_s = 0.0
        self._running = self._trials = 0
        self.pipeline = Pipeline(POLICIES, source="simulated", random=random)
        self.answers: Counter[str] = Counter()

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
        assert self._running < SLOTS, "more requests than slots"
        assert self.pipeline.breaker is not None
        state = self.pipeline.breaker.state
        assert state != "open", "a request was sent through an open circuit"
        assert state == "closed" or not self._trials, "two trials at once"
        return state == "half-open"

    async def _answer(self, phase: str) -> httpx.Response:
        self.answers[phase] += 1
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
            await source.pipeline.run(source)
        except ResilienceError:
            refused = True
        if refused or random.random() < 0.1:
            await asyncio.sleep(0.05)


def simulate(
    calls: int, *, seed: int, phase_s: float = PHASE_S
) -> tuple[SourceStatistics, Counter[str], float]:
    """Return the statistics, the requests by phase, and the virtual seconds that passed."""

    async def everybody() -> tuple[SourceStatistics, Counter[str], float]:
        random = Random(seed)
        source = Source(random, phase_s)
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(worker(source, calls // WORKERS, random))
        return source.pipeline.statistics(), source.answers, asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=lambda: VirtualClockLoop(polls=False)) as runner:
        counted, answers, took_s = runner.run(everybody())
    assert counted.requests == calls // WORKERS * WORKERS == counted.ok + counted.failed
    assert counted.retries == counted.attempts + counted.rejects - counted.requests
    return counted, answers, took_s


def main() -> None:
    """Simulate, and print what happened and how long it took."""
    stamina.instrumentation.set_on_retry_hooks([])  # one warning a retry otherwise
    started_s, spent_s = time.perf_counter(), time.process_time()
    counted, answers, virtual_s = simulate(CALLS, seed=1)
    took_s, spent_s = time.perf_counter() - started_s, time.process_time() - spent_s
    print(counted)
    print(f"requests by phase: {dict(answers)}")
    print(f"{counted.requests:,} calls, {virtual_s:,.0f} virtual seconds, in {took_s:.1f} s")
    print(f"{spent_s:.1f} s of processor time, {spent_s / counted.requests * 1e6:.1f} us a call")


if __name__ == "__main__":
    main()
