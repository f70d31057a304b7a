"""What calls that wait cost in memory: `python -m benchmarks.waiting_calls`.

Starts 50,000 calls at once through every policy: the bulkhead and, in the row that says so, the
adaptive limit in its place. None can end. Prints how much the process has grown, as the kernel
counts it. Each place to wait is measured in a process of its own.
"""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx

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
)

CALLS = 50_000
LIMIT_MB = 400
HOUR_S = 3_600.0
FOR_A_SLOT = Policies(
    fallback=Fallback(answer=lambda _request, _failure: httpx.Response(200)),
    total_timeout_s=HOUR_S,
    retry=RetrySettings(budget=RetryBudget()),
    hedge=HedgeSettings(delay_s=HOUR_S),
    bulkhead=BulkheadSettings(max_concurrent=10, max_queue=CALLS, max_wait_s=HOUR_S),
    rate_limit=RateLimit.per_second(100, max_queue=CALLS, max_wait_s=HOUR_S),
    breaker=BreakerSettings(),
    attempt_timeout_s=10.0,
)
PLACES = {
    "a slot": FOR_A_SLOT,
    "an adaptive slot": replace(
        FOR_A_SLOT,
        bulkhead=None,
        adaptive=AdaptiveSettings(max_queue=CALLS, max_wait_s=HOUR_S),
    ),
    "a token": replace(
        FOR_A_SLOT, bulkhead=BulkheadSettings(max_concurrent=CALLS, max_wait_s=HOUR_S)
    ),
    "the response": replace(
        FOR_A_SLOT,
        bulkhead=BulkheadSettings(max_concurrent=CALLS),
        rate_limit=RateLimit.per_second(CALLS),
    ),
}


async def send() -> httpx.Response:
    """Never answer."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody answers")


def resident_mb() -> float:
    """Return the memory that this process occupies."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("/proc/self/status names no VmRSS; this benchmark needs Linux")


async def grown_mb(policies: Policies) -> float:
    """Return by how much the process grows while so many calls wait."""
    pipeline = Pipeline(policies, source="slow", random=Random(1))
    before_mb = resident_mb()
    calls = [asyncio.create_task(pipeline.run(send)) for _ in range(CALLS)]
    await asyncio.sleep(0.1)
    counted = pipeline.statistics()
    assert counted.in_flight == CALLS, counted
    grown = resident_mb() - before_mb
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert pipeline.statistics().cancelled == CALLS
    return grown


def main() -> None:
    """Measure one place if it is named, else start a process for each."""
    if len(sys.argv) > 1:
        grown = asyncio.run(grown_mb(PLACES[sys.argv[1]]))
        kb = grown * 1e3 / CALLS
        print(f"{CALLS:,} calls waiting for {sys.argv[1]:<16} {grown:6.0f} MB {kb:5.1f} kB each")
        sys.exit(grown >= LIMIT_MB)
    command = [sys.executable, "-m", "benchmarks.waiting_calls"]
    codes = {place: subprocess.run([*command, place], check=False).returncode for place in PLACES}
    if failed := [place for place, code in codes.items() if code]:
        sys.exit(f"more than {LIMIT_MB} MB, or nothing measured, for: {', '.join(failed)}")


if __name__ == "__main__":
    main()
