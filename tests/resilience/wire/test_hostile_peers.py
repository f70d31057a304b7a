"""What a client promises whatever its sources send."""

import asyncio
import gzip
import zlib
from random import Random

import httpx
import pytest

from resilience import (
    BreakerSettings,
    Policies,
    ResilientClient,
    RetrySettings,
    Source,
)
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
