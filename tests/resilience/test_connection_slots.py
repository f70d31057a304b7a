"""An attempt that has its token and the circuit's leave is sent at once."""

import asyncio
from random import Random

import httpx
import pytest

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    BulkheadSettings,
    Policies,
    RateLimit,
    ResilientClient,
    RetrySettings,
    Source,
)
from resilience._internal.guarded_source import within_connections
from tests.resilience.peers import read_request, scripted_peer

pytestmark = pytest.mark.virtual_clock

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """Answers each request after `after_s` seconds, and counts them."""

    def __init__(self, *, after_s: float = 0.0, reply: bytes = OK) -> None:
        self.after_s = after_s
        self.reply = reply
        self.requests = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        while await read_request(reader):
            self.requests += 1
            await asyncio.sleep(self.after_s)
            writer.write(self.reply)
            await writer.drain()


def client_of(url: str, policies: Policies, *, max_connections: int) -> ResilientClient:
    source = Source(name="s", base_url=url, policies=policies)
    return ResilientClient([source], random=Random(1), max_connections=max_connections)


async def test_a_wait_for_a_connection_is_no_time_out_of_a_healthy_source() -> None:
    policies = Policies(
        attempt_timeout_s=1.0,
        retry=RetrySettings(),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1),
    )
    peer = Peer(after_s=0.3)
    async with scripted_peer(peer) as url, client_of(url, policies, max_connections=5) as client:
        responses = await asyncio.gather(*(client.get("s", "/") for _ in range(25)))  # 1.5 s
    assert {response.status_code for response in responses} == {200}
    assert client.statistics("s").attempts == peer.requests == 25


async def test_what_counts_as_sent_has_been_sent() -> None:
    policies = Policies(rate_limit=RateLimit.per_second(1_000))
    peer = Peer(after_s=30)
    async with scripted_peer(peer) as url, client_of(url, policies, max_connections=3) as client:
        calls = [asyncio.ensure_future(client.get("s", "/")) for _ in range(10)]
        await asyncio.sleep(0.2)
        counted = client.statistics("s")
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
    assert (counted.attempts, counted.waiting, peer.requests) == (3, 7, 3)


async def test_after_a_pause_was_asked_for_nothing_is_sent_from_a_queue_for_connections() -> None:
    limited = b"HTTP/1.1 429 Slow\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n"
    policies = Policies(rate_limit=RateLimit.per_second(1_000), total_timeout_s=0.5)
    peer = Peer(after_s=0.05, reply=limited)
    async with scripted_peer(peer) as url, client_of(url, policies, max_connections=4) as client:
        calls = (client.get("s", "/") for _ in range(40))
        await asyncio.gather(*calls, return_exceptions=True)
    assert peer.requests == 4


@pytest.mark.parametrize(
    ("policies", "slots"),
    [
        (Policies(), 10),
        (Policies(bulkhead=BulkheadSettings(max_concurrent=4)), 4),
        (Policies(bulkhead=BulkheadSettings(max_concurrent=50)), 10),
    ],
)
def test_there_are_no_more_slots_than_connections(policies: Policies, slots: int) -> None:
    bounded = within_connections(policies, 10).bulkhead
    assert bounded is not None
    assert bounded.max_concurrent == slots


def test_an_adaptive_limit_does_not_outgrow_the_connections() -> None:
    policies = Policies(adaptive=AdaptiveSettings(min_limit=5, initial_limit=20, max_limit=200))
    bounded = within_connections(policies, 10).adaptive
    assert bounded is not None
    assert (bounded.min_limit, bounded.initial_limit, bounded.max_limit) == (5, 10, 10)


async def test_a_transport_of_ones_own_has_limits_of_its_own() -> None:
    source = Source(name="s", base_url="http://s")
    together = 0
    most = 0

    async def answer(_: httpx.Request) -> httpx.Response:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0)
        together -= 1
        return httpx.Response(200)

    async with ResilientClient(
        [source], random=Random(1), max_connections=1, transport=httpx.MockTransport(answer)
    ) as client:
        await asyncio.gather(*(client.get("s", "/") for _ in range(5)))
    assert most == 5
