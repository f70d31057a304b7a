import asyncio
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from resilience import ResponseTooLarge, StaleConnection, UndecodableBody
from resilience._internal.wire.connections import Connections
from resilience._internal.wire.transport import AttemptTransport
from tests.resilience.peers import read_request, scripted_peer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def fetch(transport: AttemptTransport, url: str, method: str = "GET") -> httpx.Response:
    response = await transport.handle_async_request(httpx.Request(method, url))
    try:
        await response.aread()
    finally:
        await response.aclose()
    return response


def answering(reply: bytes) -> Callable[..., Awaitable[None]]:
    """Answer the first request of a connection with `reply`, then hang up."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await read_request(reader):
            writer.write(reply)
            await writer.drain()

    return behave


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the request, then send a TCP reset instead of an answer."""
    await read_request(reader)
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (answering(b""), httpx.RemoteProtocolError),
        (answering(b"no HTTP at all\r\n\r\n"), httpx.RemoteProtocolError),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), httpx.RemoteProtocolError),
        (
            answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"),
            httpx.RemoteProtocolError,
        ),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain"), UndecodableBody),
        (reset, httpx.ReadError),
    ],
    ids=["silence", "garbage", "truncated", "bad-chunk", "not-gzip", "reset"],
)
async def test_a_broken_answer_is_an_error_of_its_kind(
    behave: Callable[..., Awaitable[None]], error: type[Exception]
) -> None:
    async with scripted_peer(behave) as url, AttemptTransport() as transport:
        with pytest.raises(error) as raised:
            await fetch(transport, url)
    assert type(raised.value) is error
    if isinstance(raised.value, httpx.TransportError):
        assert raised.value.request.url == url


async def test_a_refused_connection_is_a_connect_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with AttemptTransport() as transport:
        with pytest.raises(httpx.ConnectError):
            await fetch(transport, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("with_reset", [False, True])
async def test_a_reused_connection_that_the_server_has_closed_is_stale(with_reset: bool) -> None:
    connections = 0

    async def close_after_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        if with_reset:
            await reset(reader, writer)
        else:
            await read_request(reader)

    async with scripted_peer(close_after_one) as url, AttemptTransport() as transport:
        assert (await fetch(transport, url)).text == "ok"
        with pytest.raises(StaleConnection):
            await fetch(transport, url)
        assert connections == 1
        assert (await fetch(transport, url)).text == "ok"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("served_before", [0, 1])
async def test_one_attempt_is_one_request_on_the_wire(method: str, served_before: int) -> None:
    requests = 0

    async def drop_after(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        while await read_request(reader):
            requests += 1
            if requests > served_before:
                return
            writer.write(OK)
            await writer.drain()

    async with scripted_peer(drop_after) as url, AttemptTransport() as transport:
        for _ in range(served_before):
            await fetch(transport, url, method)
        with pytest.raises(httpx.RemoteProtocolError) as raised:
            await fetch(transport, url, method)
    assert isinstance(raised.value, StaleConnection) is bool(served_before)
    assert requests == served_before + 1


@pytest.mark.parametrize("size", [1000, 1001])
@pytest.mark.parametrize("compressed", [False, True])
async def test_a_body_beyond_the_limit_is_refused_also_when_it_travels_small(
    size: int, compressed: bool
) -> None:
    body = gzip.compress(b"x" * size) if compressed else b"x" * size
    encoding = b"Content-Encoding: gzip\r\n" if compressed else b""
    reply = b"HTTP/1.1 200 OK\r\n" + encoding + b"Connection: close\r\n\r\n" + body
    async with (
        scripted_peer(answering(reply)) as url,
        AttemptTransport(Connections(max_response_bytes=1000)) as transport,
    ):
        if size <= 1000:
            assert len((await fetch(transport, url)).content) == size
        else:
            with pytest.raises(ResponseTooLarge) as raised:
                await fetch(transport, url)
            assert raised.value.limit_bytes == 1000


async def test_an_endless_body_is_cut_at_the_limit_and_its_connection_closed() -> None:
    hung_up = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        except ConnectionError:
            hung_up.set()

    async with (
        scripted_peer(endless) as url,
        AttemptTransport(Connections(max_response_bytes=100_000, max_connections=1)) as transport,
    ):
        with pytest.raises(ResponseTooLarge):
            await fetch(transport, url)
        await asyncio.wait_for(hung_up.wait(), 5)


async def test_redirects_are_answers_and_cookies_are_forgotten() -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_request(reader):
            heads.append(head)
            writer.write(
                b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
                b"Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
            )
            await writer.drain()

    async with scripted_peer(behave) as url, AttemptTransport() as transport:
        named = url.replace("127.0.0.1", "localhost")  # aiohttp keeps no cookies of bare addresses
        for _ in range(2):
            assert (await fetch(transport, named)).status_code == 302
    assert len(heads) == 2
    assert b"cookie" not in heads[1].lower()


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with scripted_peer(answering(OK)) as url, AttemptTransport() as transport:
        assert (await fetch(transport, url)).text == "ok"


@pytest.mark.parametrize(
    "wrong", [{"max_connections": 0}, {"max_response_bytes": -1}, {"keepalive_s": -1}]
)
def test_a_setting_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Connections(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_connections": "5"},
        {"max_connections": 2.5},
        {"max_response_bytes": None},
        {"keepalive_s": "4"},
        {"max_connection_age_s": None},
    ],
    ids=str,
)
def test_a_setting_that_is_no_number_is_refused(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match=f"{next(iter(wrong))} has the wrong type"):
        Connections(**wrong)


async def test_an_old_connection_is_parted_with_after_its_response() -> None:
    connections = 0

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await read_request(reader):
            writer.write(OK)
            await writer.drain()

    async with scripted_peer(behave) as url:
        async with AttemptTransport() as young:
            for _ in range(3):
                await fetch(young, url)
        assert connections == 1
        async with AttemptTransport(Connections(max_connection_age_s=0)) as old:
            for _ in range(3):
                assert (await fetch(old, url)).content == b"ok"
        assert connections == 4
