"""The demo's own HTTP server, as clients see it."""

import asyncio
import contextlib
import json
import socket

import httpx
import pytest

from examples.resilience_demo.http_server import Reply, serving
from examples.resilience_demo.servers import Weather


async def test_the_server_keeps_connections_alive_and_ends_with_its_block() -> None:
    async def answer(target: str) -> Reply:
        return Reply(status=418, body={"asked": target}, headers={"X-A": "b"})

    async with serving(answer) as url, httpx.AsyncClient() as http:
        replies = [await http.post(f"{url}/a?b={n}", content=b"x" * n) for n in range(3)]
        idle = await asyncio.open_connection(*_address(url))
    assert await idle[0].read() == b""
    idle[1].close()
    assert [json.loads(reply.content)["asked"] for reply in replies] == [
        "/a?b=0",
        "/a?b=1",
        "/a?b=2",
    ]
    assert {reply.headers["x-a"] for reply in replies} == {"b"}
    with pytest.raises(OSError, match=r"refused|failed"):
        await asyncio.open_connection(*_address(url))


async def test_a_taken_port_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        async with serving(Weather(lambda: 0.0), port=taken.getsockname()[1]):
            pass


@pytest.mark.parametrize("sent", [b"stray\r\n\r\n", b"x" * 200_000, b"GET / HTTP/1.1\r\nHo"])
async def test_who_speaks_no_http_harms_nobody(sent: bytes) -> None:
    async with serving(Weather(lambda: 0.0)) as url, httpx.AsyncClient() as http:
        reader, writer = await asyncio.open_connection(*_address(url))
        writer.write(sent)
        writer.write_eof()
        with contextlib.suppress(ConnectionResetError):  # it does not read to the end
            assert await reader.read() == b""
        writer.close()
        assert (await http.get(url)).status_code == 200


def _address(url: str) -> tuple[str, int]:
    parsed = httpx.URL(url)
    assert parsed.port
    return parsed.host, parsed.port
