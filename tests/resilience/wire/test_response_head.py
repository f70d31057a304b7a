"""How large the status line and headers of a response may be: as with httpx, or as it is set."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from resilience import (
    BreakerSettings,
    HeadersTooLarge,
    Policies,
    ResponseTooLarge,
)
from tests.resilience.peers import read_request, scripted_peer
from tests.resilience.wire.one_source import AT_ONCE, client_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMIT = 10_000
HTTPX_LIMIT = 167_936


def with_field(size: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: " + b"x" * size + b"\r\n\r\nok"


def with_name(size: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + b"x" * size + b": x\r\n\r\nok"


def with_reason(size: int) -> bytes:
    return b"HTTP/1.1 200 " + b"x" * size + b"\r\nContent-Length: 2\r\n\r\nok"


def with_fields(size: int) -> bytes:
    fields = b"Set-Cookie: a=b\r\n" * (size // 17)
    return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + fields + b"\r\nok"


KINDS = pytest.mark.parametrize("reply", [with_field, with_name, with_reason, with_fields])
Reply = Callable[[int], bytes]


def always(reply: bytes, *, piece: int | None = None) -> Callable[..., Awaitable[None]]:
    """Answer each request of a connection with `reply`, in pieces of so many bytes if given."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            for at in range(0, len(reply), piece or len(reply)):
                writer.write(reply[at : at + (piece or len(reply))])
                await writer.drain()

    return behave


@KINDS
@pytest.mark.parametrize("size", [8_190, 9_000, 60_000, 100_000])
async def test_a_head_that_httpx_takes_is_an_ordinary_answer(reply: Reply, size: int) -> None:
    async with scripted_peer(always(reply(size))) as url:
        async with httpx.AsyncClient(trust_env=False) as theirs:
            expected = await theirs.get(url)
        async with client_of(url) as client:
            for _ in range(2):
                response = await client.get("s", "/")
                assert (response.status_code, response.text) == (200, "ok")
                assert response.headers.multi_items() == expected.headers.multi_items()
                assert response.reason_phrase == expected.reason_phrase


@pytest.mark.parametrize("piece", [None, 4096])
@pytest.mark.parametrize("size", [101_000, 110_000, 130_000, 160_000, 180_000, 400_000])
async def test_nothing_is_refused_that_httpx_takes(size: int, piece: int | None) -> None:
    """How much more than 100 KiB that is depends on how the kernel cuts it up."""
    async with scripted_peer(always(with_field(size), piece=piece)) as url:
        async with httpx.AsyncClient(trust_env=False) as theirs:
            try:
                taken = (await theirs.get(url)).is_success
            except httpx.RemoteProtocolError:
                taken = False
        async with client_of(url) as client:
            if taken or size < HTTPX_LIMIT:
                assert (await client.get("s", "/")).text == "ok"
            else:
                with pytest.raises(HeadersTooLarge):
                    await client.get("s", "/")


@KINDS
@pytest.mark.parametrize("piece", [None, 1000])
async def test_a_head_beyond_the_limit_is_an_error_that_names_the_setting(
    reply: Reply, piece: int | None
) -> None:
    async with (
        scripted_peer(always(reply(LIMIT), piece=piece)) as url,
        client_of(url, max_header_bytes=LIMIT) as client,
    ):
        with pytest.raises(HeadersTooLarge) as raised:
            await client.get("s", "/")
    assert isinstance(raised.value, ResponseTooLarge)
    assert raised.value.limit_bytes == LIMIT
    assert "larger than 10000 bytes; raise max_header_bytes" in str(raised.value)


@pytest.mark.parametrize("piece", [None, 1, 1000])
async def test_the_limit_is_exact_however_the_head_is_cut_up(piece: int | None) -> None:
    head = with_field(1000)
    size = head.index(b"ok")
    async with scripted_peer(always(head, piece=piece)) as url:
        async with client_of(url, max_header_bytes=size) as client:
            assert (await client.get("s", "/")).text == "ok"
        async with client_of(url, max_header_bytes=size - 1) as client:
            with pytest.raises(HeadersTooLarge):
                await client.get("s", "/")


@pytest.mark.parametrize("line", [b"X: x\r\n", b"x", b"\r\nHTTP/1.1 200 OK", b" "])
async def test_a_head_that_never_ends_is_refused_too(line: bytes) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nX-First: ")
        while not writer.is_closing():
            writer.write(line * 1000)
            await writer.drain()

    async with scripted_peer(behave) as url, client_of(url, max_header_bytes=LIMIT) as client:
        with pytest.raises((HeadersTooLarge, httpx.RemoteProtocolError)):
            await client.get("s", "/")


@pytest.mark.parametrize(
    "after_body", [b"0\r\n" + b"X-Trailer: x\r\n" * 100_000, b"1;" + b"x" * 1_000_000]
)
@pytest.mark.parametrize("status", [200, 503])
async def test_trailers_and_what_chunks_say_have_the_same_limit(
    after_body: bytes, status: int
) -> None:
    head = f"HTTP/1.1 {status} OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n".encode()

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        await writer.drain()
        await asyncio.sleep(0.05)  # so that it is read apart
        writer.write(after_body)
        await writer.drain()
        await reader.read()

    async with scripted_peer(behave) as url, client_of(url, max_header_bytes=LIMIT) as client:
        if status == 200:
            with pytest.raises(HeadersTooLarge):
                await client.get("s", "/")
        else:
            assert (await client.get("s", "/")).status_code == status


async def test_a_body_of_any_framing_is_no_part_of_the_head() -> None:
    chunks = b"".join(b"1\r\nx\r\n" for _ in range(20_000)) + b"0\r\nX-Trailer: x\r\n\r\n"
    replies = {
        "/sized": b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000,
        "/chunked": b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
    }

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await read_request(reader):
            writer.write(b"HTTP/1.1 200 OK\r\n" + replies[request.split()[1].decode()])
            await writer.drain()

    async with scripted_peer(behave) as url, client_of(url, max_header_bytes=1000) as client:
        for _ in range(2):
            assert len((await client.get("s", "/sized")).content) == 1_000_000
            assert len((await client.get("s", "/chunked")).content) == 20_000


async def test_a_stream_that_is_read_slowly_is_not_taken_for_a_head() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n")
        writer.write(b"x" * 5_000_000)
        await writer.drain()

    async with (
        scripted_peer(behave) as url,
        client_of(url, max_header_bytes=1000) as client,
        client.stream("GET", "s", "/") as response,
    ):
        received = 0
        async for part in slowly(response.aiter_raw()):
            received += len(part)
    assert received == 5_000_000


async def slowly(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield part
        await asyncio.sleep(0)


async def test_a_head_too_large_is_an_answer_to_the_circuit_and_not_asked_for_again() -> None:
    breaker = BreakerSettings(failure_ratio=None, consecutive_failures=1)
    policies = Policies(retry=AT_ONCE, breaker=breaker)
    async with (
        scripted_peer(always(with_field(LIMIT))) as url,
        client_of(url, policies, max_header_bytes=LIMIT) as client,
    ):
        with pytest.raises(HeadersTooLarge):
            await client.post("s", "/", headers={"Idempotency-Key": "1"})
        statistics = client.statistics("s")
    assert (statistics.attempts, statistics.circuit, statistics.failed) == (1, "closed", 1)


async def test_a_connection_whose_head_was_too_large_is_not_used_again() -> None:
    replies = iter([with_field(LIMIT), OK])
    connections = 0

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await read_request(reader):
            writer.write(next(replies))
            await writer.drain()

    async with scripted_peer(behave) as url, client_of(url, max_header_bytes=LIMIT) as client:
        with pytest.raises(HeadersTooLarge):
            await client.get("s", "/")
        assert (await client.get("s", "/")).text == "ok"
    assert connections == 2


@pytest.mark.parametrize("size", [0, 999, 10_000_001, 1e6])
def test_a_limit_out_of_range_is_refused(size: float) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape("max_header_bytes")):
        client_of("http://127.0.0.1:9", max_header_bytes=size)
