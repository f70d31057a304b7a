"""What goes through a proxy, and who sees its password."""

import asyncio
import socket

import httpx
import pytest

from resilience import (
    CallStarted,
    Fallback,
    Policies,
)
from resilience._internal.wire.connections import Connections
from tests.resilience.peers import read_request, scripted_peer
from tests.resilience.wire.one_source import AT_ONCE, client_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def test_a_proxy_gets_every_request_with_the_credentials() -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_request(reader):
            heads.append(head)
            writer.write(OK)
            await writer.drain()

    async with scripted_peer(behave) as url:
        proxy = url.replace("http://", "http://me:secret@")
        async with client_of("http://api.example.test", proxy=proxy) as client:
            for _ in range(2):
                assert (await client.get("s", "/rates")).text == "ok"
    assert len(heads) == 2
    for head in heads:
        assert head.startswith(b"GET http://api.example.test/rates HTTP/1.1")
        assert b"proxy-authorization: basic bwu6c2vjcmv0" in head.lower()


async def test_the_credentials_of_a_proxy_are_seen_by_the_proxy_alone() -> None:
    heads: list[bytes] = []
    seen: list[httpx.Request | None] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    def answer(request: httpx.Request, failure: Exception | httpx.Response) -> httpx.Response:
        assert isinstance(failure, httpx.Response)
        seen.extend((request, failure.request))
        return httpx.Response(203)

    async with scripted_peer(refuse) as url:
        proxy = url.replace("http://", "http://me:secret@")
        policies = Policies(fallback=Fallback(answer=answer))
        async with client_of("http://api.example.test", policies, proxy=proxy) as client:
            client.subscribe(lambda event: seen.append(event.request), [CallStarted])
            seen.append((await client.post("s", "/", json=[1])).request)
    assert b"proxy-authorization" in heads[0].lower()
    assert b"content-length: 3" in heads[0].lower()
    assert len(seen) == 4
    shared, *others = seen
    assert shared is not None
    assert all(each is shared for each in others)
    assert "proxy-authorization" not in shared.headers


async def test_a_proxy_is_asked_for_a_tunnel_to_a_source_with_tls() -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with scripted_peer(behave) as url:
        proxy = url.replace("http://", "http://me:secret@")
        async with client_of("https://api.example.test", proxy=proxy) as client:
            with pytest.raises(httpx.ProxyError):
                await client.get("s", "/rates")
    assert heads[0].startswith(b"CONNECT api.example.test:443 HTTP/1.1")
    assert b"proxy-authorization: basic bwu6c2vjcmv0" in heads[0].lower()


async def test_a_proxy_that_is_down_or_refuses_is_a_transient_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with client_of("http://api.example.test", proxy=f"http://127.0.0.1:{port}") as client:
        with pytest.raises(httpx.ProxyError):
            await client.get("s", "/")


@pytest.mark.parametrize("proxy", ["socks5://h:1", "h:1", "http://", "http://joe:pw@[::1", ""])
def test_what_is_no_proxy_is_refused_without_telling_its_password(proxy: str) -> None:
    with pytest.raises(ValueError, match=r"^proxy .*write it like http") as raised:
        Connections(proxy=proxy)
    assert "pw" not in str(raised.value)


def test_settings_of_connections_do_not_show_the_password_of_a_proxy() -> None:
    assert "secret" not in repr(Connections(proxy="http://me:secret@proxy.example:3128"))


async def test_a_proxy_that_was_not_reached_leaves_any_request_to_be_repeated() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url, proxy = "http://api.example.test", f"http://127.0.0.1:{port}"
    async with client_of(url, Policies(retry=AT_ONCE), proxy=proxy) as client:
        with pytest.raises(httpx.ProxyError):
            await client.post("s", "/")
    assert client.statistics("s").attempts == 3
