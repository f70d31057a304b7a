"""Tasks that each send one request after another, for the clients that have no load generator."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from time import perf_counter

from benchmarks.load.reading import Reading, own_cpu_s, quantile_us
from loadgen.event_loop import loop_factory

Send = Callable[[], Awaitable[None]]  # sends one request and reads its whole reply
Client = Callable[[str, int], AbstractAsyncContextManager[Send]]  # of a URL and its connections


def run(client: Client) -> None:
    """Measure *client* as the command line says, URL CONNECTIONS SECONDS, and print the reading."""
    url, connections, duration_s = sys.argv[1:4]
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        measured = _measure(client, url, int(connections), float(duration_s))
        print(runner.run(measured).to_line())


async def _measure(client: Client, url: str, connections: int, duration_s: float) -> Reading:
    latencies_s: list[float] = []

    async def send_on(send: Send, until: float) -> None:
        started = perf_counter()
        while started < until:
            await send()
            ended = perf_counter()
            latencies_s.append(ended - started)
            started = ended

    async with client(url, connections) as send:
        before_s, began = own_cpu_s(), perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(connections):
                tasks.create_task(send_on(send, began + duration_s))
        took_s, cpu_s = perf_counter() - began, own_cpu_s() - before_s
    latencies_s.sort()
    return Reading(
        requests=len(latencies_s),
        duration_s=took_s,
        p50_us=quantile_us(latencies_s, 0.5),
        p99_us=quantile_us(latencies_s, 0.99),
        cpu_s=cpu_s,
    )
