"""What the policies cost a call that does well: `python -m benchmarks.pipeline_overhead`.

Each row wraps the same coroutine, which returns a ready response. "Everything" is what an attempt
passes in order: time-outs, retry with its budget, breaker, bulkhead, rate limit. The rows below it
add adaptive concurrency in the bulkhead's place, hedging and a fallback. The peer is what one
would write by hand from the same libraries: asyncio.timeout around stamina around pybreaker around
asyncio.timeout; it has neither rate limit nor bulkhead nor budget. Every row is measured in turn,
several times over, in processor time, which other programs disturb less; the median counts.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import httpx
import pybreaker
import stamina

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    BulkheadSettings,
    Fallback,
    HedgeSettings,
    Pipeline,
    Policies,
    RateLimit,
    RetryBudget,
    RetrySettings,
    Subscribers,
)

CALLS = 5_000
ROUNDS = 7
RATES = Policies(
    total_timeout_s=1.0,
    retry=RetrySettings(max_retries=2, base_delay_s=0.05),
    breaker=BreakerSettings(failure_ratio=0.5, minimum_throughput=10, sampling_s=5.0, break_s=5.0),
    attempt_timeout_s=0.3,
)
EVERYTHING = replace(
    RATES,
    retry=RetrySettings(max_retries=2, base_delay_s=0.05, budget=RetryBudget()),
    bulkhead=BulkheadSettings(max_concurrent=10),
    rate_limit=RateLimit.per_second(1_000_000),  # never waited for
)
AND_MORE = replace(
    EVERYTHING,
    bulkhead=None,
    adaptive=AdaptiveSettings(),
    hedge=HedgeSettings(delay_s=0.1),
    fallback=Fallback(answer=lambda _request, _failure: httpx.Response(200)),
)
RESPONSE = httpx.Response(200, content=b"")

Run = Callable[[], Awaitable[object]]


async def send() -> httpx.Response:
    """Answer at once."""
    return RESPONSE


def piped(policies: Policies, *, told: bool = False) -> Run:
    """Return a call through a pipeline, with a subscriber if `told`."""
    subscribers = Subscribers()
    if told:
        subscribers.add(lambda _event: None)
    pipeline = Pipeline(policies, source="rates", random=Random(1), subscribers=subscribers)
    return lambda: pipeline.run(send)


def by_hand() -> Run:
    """Return a call through the same policies, written by hand."""
    breaker = pybreaker.CircuitBreaker(fail_max=5, reset_timeout=5)

    async def run() -> httpx.Response:
        async with asyncio.timeout(1.0):
            async for attempt in stamina.retry_context(
                on=httpx.TransportError, attempts=3, timeout=None
            ):
                with attempt, breaker.calling():
                    async with asyncio.timeout(0.3):
                        return await send()
        raise AssertionError("stamina ended without a result")

    return run


async def us_per_call(run: Run) -> float:
    """Return microseconds of processor time a call, one after the other."""
    gc.collect()
    started_ns = time.process_time_ns()
    for _ in range(CALLS):
        await run()
    return (time.process_time_ns() - started_ns) / CALLS / 1e3


async def main() -> None:
    """Measure and print every row."""
    rows: dict[str, Run] = {
        "bare": send,
        "Policies()": piped(Policies()),
        "time-outs, retry, breaker": piped(RATES),
        "everything": piped(EVERYTHING),
        "everything, one subscriber": piped(EVERYTHING, told=True),
        "with adaptive, hedge, fallback": piped(AND_MORE),
        "all of that, one subscriber": piped(AND_MORE, told=True),
        "by hand: stamina + pybreaker": by_hand(),
    }
    samples: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, run in rows.items():
            samples[name].append(await us_per_call(run))
    print(f"{'a call through':<31} {'us':>7} {'spread':>15}")
    for name, taken in samples.items():
        spread = f"{min(taken):.1f}..{max(taken):.1f}"
        print(f"{name:<31} {statistics.median(taken):>7.1f} {spread:>15}")


if __name__ == "__main__":
    asyncio.run(main())
