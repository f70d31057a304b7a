"""Uses clients in forked processes: `python -m tests.resilience.forked_clients CASE URL`."""

import asyncio
import sys
from random import Random

import httpx
import stamina.instrumentation
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from resilience import (
    BulkheadSettings,
    Call,
    Policies,
    ResilientClient,
    Retrying,
    RetryLayer,
    RetryScheduled,
    RetrySettings,
    Source,
    Subscribers,
)
from resilience.telemetry import instrument
from resilience.testing import VirtualClockLoop
from tests.resilience.forking import in_child

CHILDREN = 3
RETRY = RetrySettings(max_retries=2, base_delay_s=1)


def failing(policies: Policies) -> ResilientClient:
    """Return a client whose calls all fail."""
    source = Source(name="s", base_url="http://s.test", policies=policies)
    transport = httpx.MockTransport(lambda _: httpx.Response(500))
    return ResilientClient([source], random=Random(1), transport=transport)


async def waits_of(client: ResilientClient, **overrides: object) -> list[float]:
    """Return the waits before the retries of a call."""
    waits: list[float] = []
    client.subscribe(lambda event: waits.append(event.delay_s), [RetryScheduled])
    await client.get("s", "/", **overrides)  # type: ignore[arg-type]
    return waits


async def waits_alone(retried: RetryLayer, retrying: Retrying, told: Subscribers) -> list[float]:
    """Return the waits of the parts that are of use alone."""
    waits: list[float] = []
    told.add(lambda event: waits.append(event.delay_s), [RetryScheduled])

    async def fails() -> httpx.Response:
        return httpx.Response(500)

    async def raises() -> None:
        raise ConnectionError

    await retried(Call("GET", fails))
    try:
        await retrying(raises)
    except ConnectionError:
        return waits
    raise AssertionError("it must fail")


def jitter() -> None:
    """Print the waits of children by a policy of the source, of one call, and of the parts."""
    stamina.instrumentation.set_on_retry_hooks([])  # they print
    told = Subscribers()
    one, other = failing(Policies(retry=RETRY)), failing(Policies())
    retried = RetryLayer(RETRY, random=Random(1), subscribers=told)
    retrying = Retrying(RETRY, name="x", on=ConnectionError, random=Random(1), subscribers=told)

    def run(scenario: object) -> object:
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            return runner.run(scenario)  # type: ignore[arg-type]

    for _ in range(CHILDREN):
        in_child(lambda: run(waits_of(one)))
        in_child(lambda: run(waits_of(other, retry=RETRY)))
        in_child(lambda: run(waits_alone(retried, retrying, told)))


def client_of(url: str) -> ResilientClient:
    """Return a client with two slots."""
    policies = Policies(bulkhead=BulkheadSettings(max_concurrent=2))
    return ResilientClient([Source(name="s", base_url=url, policies=policies)], random=Random())


async def get(client: ResilientClient) -> str:
    """Return the status of four calls at once."""
    responses = await asyncio.gather(*(client.get("s", "/") for _ in range(4)))
    return " ".join(str(response.status_code) for response in responses)


def idle(url: str) -> None:
    """Fork after the client's loop has ended, and before it had one; each process calls."""
    new, used = client_of(url), client_of(url)
    asyncio.run(get(used))
    for client in (new, used):
        in_child(lambda: asyncio.run(get(client)))  # noqa: B023 - it is over before the next
        sys.stdout.write(f"{asyncio.run(get(client))}\n")


async def busy(url: str) -> None:
    """Fork in the middle of calls; the child must leave the parent's connections alone."""
    async with client_of(url) as client:
        await get(client)
        under_way = [asyncio.create_task(client.get("s", "/slow")) for _ in range(4)]
        await asyncio.sleep(0)
        in_child(lambda: asyncio.run(get(client)))
        in_child(lambda: asyncio.run(client.aclose()))
        in_child(lambda: asyncio.run(get(client_of(url))))
        slow = [(await call).status_code for call in under_way]
        sys.stdout.write(f"parent {slow} {await get(client)}\n")


def spans(url: str) -> None:
    """Print the trace that a call of each child is in."""
    exported, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    client = client_of(url)
    instrument(client, tracer_provider=provider)

    def traces() -> str:
        asyncio.run(get(client))
        return " ".join(
            sorted({f"{each.context.trace_id:x}" for each in exported.get_finished_spans()})
        )

    for _ in range(CHILDREN):
        in_child(traces)


if __name__ == "__main__":
    match sys.argv[1]:
        case "jitter":
            jitter()
        case "idle":
            idle(sys.argv[2])
        case "busy":
            asyncio.run(busy(sys.argv[2]))
        case "spans":
            spans(sys.argv[2])
