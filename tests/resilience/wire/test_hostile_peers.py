"""What a client promises whatever its sources send, and whatever its subscribers do."""

import asyncio
import gzip
import zlib
from random import Random

import httpx
import pytest

from resilience import (
    BreakerSettings,
    BulkheadSettings,
    CircuitOpened,
    HedgeEnded,
    HedgeSettings,
    Policies,
    ResilientClient,
    RetryBudget,
    RetrySettings,
    Source,
)
from resilience.retry.retry_after import retry_after_s, utc_now
from tests.resilience.peers import read_request, scripted_peer


def bomb() -> bytes:
    """Return a few hundred bytes that two decoders in a row make 100 MB of."""
    deflate = zlib.compressobj(wbits=31)
    zeros = bytes(1_000_000)
    once = b"".join([*(deflate.compress(zeros) for _ in range(100)), deflate.flush()])
    return gzip.compress(once)


def answering(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def client_of(url: str, **policies: object) -> ResilientClient:
    source = Source(name="s", base_url=url, policies=Policies(**policies))  # type: ignore[arg-type]
    return ResilientClient([source], random=Random(1), max_response_bytes=1_000)


async def reply_with(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: bytes
) -> None:
    await read_request(reader)
    writer.write(reply)
    await writer.drain()
    writer.close()


async def test_a_body_that_is_encoded_twice_is_refused_before_it_is_decoded() -> None:
    reply = answering(bomb(), "Content-Encoding: gzip, gzip")
    async with scripted_peer(lambda r, w: reply_with(r, w, reply)) as url, client_of(url) as client:
        with pytest.raises(httpx.DecodingError, match="more than once"):
            await client.get("s", "/")


@pytest.mark.parametrize(
    "reply",
    [
        answering(b"<html>", "Content-Encoding: gzip", status="500 Oops"),
        answering(b"x" * 2_000, status="500 Oops"),
        answering(bomb(), "Content-Encoding: gzip, gzip", status="500 Oops"),
    ],
    ids=["not gzip", "too large", "encoded twice"],
)
async def test_a_failure_counts_by_its_status_even_if_its_body_cannot_be_read(reply: bytes) -> None:
    breaker = BreakerSettings(failure_ratio=None, consecutive_failures=2)
    retry = RetrySettings(max_retries=1, base_delay_s=0)
    async with (
        scripted_peer(lambda r, w: reply_with(r, w, reply)) as url,
        client_of(url, breaker=breaker, retry=retry) as client,
    ):
        response = await client.get("s", "/")

        assert (response.status_code, response.content) == (500, b"")
        assert client.statistics("s").attempts == 2
        assert client.statistics("s").circuit == "open"


@pytest.mark.virtual_clock
async def test_a_source_that_hangs_leaves_the_connections_of_another_alone() -> None:
    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            writer.close()

    async with (
        scripted_peer(hang) as sick,
        scripted_peer(lambda r, w: reply_with(r, w, answering(b"ok"))) as well,
    ):
        sources = [
            Source(name="sick", base_url=sick, policies=Policies(attempt_timeout_s=1.0)),
            Source(name="well", base_url=well, policies=Policies(attempt_timeout_s=1.0)),
        ]
        async with ResilientClient(sources, random=Random(1), max_connections=3) as client:
            hung = [asyncio.create_task(client.get("sick", "/")) for _ in range(10)]
            await asyncio.sleep(0.1)
            assert (await client.get("well", "/")).status_code == 200
            await asyncio.gather(*hung, return_exceptions=True)


def mocked(handler: object, **policies: object) -> ResilientClient:
    source = Source(name="s", base_url="http://s", policies=Policies(**policies))  # type: ignore[arg-type]
    transport = httpx.MockTransport(handler)  # type: ignore[arg-type]
    return ResilientClient([source], random=Random(1), transport=transport)


async def test_a_subscriber_that_raises_a_cancellation_cancels_nothing() -> None:
    def touchy(event: object) -> None:
        if isinstance(event, CircuitOpened):
            raise asyncio.CancelledError

    client = mocked(
        lambda _: httpx.Response(500),
        bulkhead=BulkheadSettings(max_concurrent=1),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1),
    )
    client.subscribe(touchy)

    assert (await client.get("s", "/")).status_code == 500
    client.reset("s")
    assert (await client.get("s", "/")).status_code == 500  # the slot is free again


@pytest.mark.virtual_clock
async def test_calls_share_a_budget_whatever_else_they_override() -> None:
    client = mocked(lambda _: httpx.Response(500))
    retry = RetrySettings(max_retries=1, base_delay_s=0, budget=RetryBudget(ratio=0, min_per_s=0.1))
    for number in range(50):
        await client.get("s", "/", retry=retry, total_timeout_s=5 + number / 100)

    assert client.statistics("s").retries == 1


@pytest.mark.virtual_clock
async def test_latencies_that_hedging_learns_from_are_shared_whatever_calls_override() -> None:
    asked = 0

    async def sometimes_slow(_: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(1.0 if asked % 50 == 0 else 0.02)
        return httpx.Response(200)

    ended: list[object] = []
    client = mocked(sometimes_slow, hedge=HedgeSettings(percentile=90))
    client.subscribe(lambda event: ended.append(event) if isinstance(event, HedgeEnded) else None)
    for number in range(120):
        await client.get("s", "/", total_timeout_s=5 + number / 100)

    assert ended


def test_of_several_retry_after_headers_the_longest_counts() -> None:
    response = httpx.Response(429, headers=[("retry-after", "5"), ("retry-after", "7")])

    assert retry_after_s(response, utc_now) == 7


@pytest.mark.virtual_clock
async def test_a_handler_hears_the_kinds_that_it_asked_for_and_no_others() -> None:
    every, some = list[object](), list[object]()
    client = mocked(
        lambda _: httpx.Response(500),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1),
    )
    client.subscribe(some.append, [CircuitOpened])
    await client.get("s", "/")
    client.reset("s")
    client.subscribe(every.append)
    await client.get("s", "/")

    assert [type(event) for event in some] == [CircuitOpened, CircuitOpened]
    assert len(every) > len(some)
