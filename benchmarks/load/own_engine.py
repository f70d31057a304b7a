"""Our engine as a tool: `python -m benchmarks.load.own_engine URL CONNECTIONS SECONDS`.

Every sample is recorded: when it was due, sent and answered, its status, and its class by a field
of the JSON.
"""

import asyncio
import sys

from benchmarks.load.reading import Reading, own_cpu_s, quantile_us
from loadgen import Closed, JsonFieldRule, Load, Request, run_load
from loadgen.event_loop import loop_factory


async def measure(url: str, connections: int, duration_s: float) -> Reading:
    """Send a closed load; all of its replies must be fresh."""
    load = Load(
        requests=(Request(url=url),),
        shape=Closed(tasks=connections, duration_s=duration_s),
        outcome=JsonFieldRule(json_field="source", classes=("fresh", "stale")),
    )
    before_s = own_cpu_s()
    samples = await run_load(load)
    cpu_s = own_cpu_s() - before_s
    latencies_s = sorted(samples.latencies_s(outcome="fresh"))
    assert len(latencies_s) == len(samples), samples.count_endings()
    return Reading(
        requests=len(samples),
        duration_s=samples.span_s(),
        p50_us=quantile_us(latencies_s, 0.5),
        p99_us=quantile_us(latencies_s, 0.99),
        cpu_s=cpu_s,
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        reading = runner.run(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
    print(reading.to_line())
