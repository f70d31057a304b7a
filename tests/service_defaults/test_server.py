import asyncio
import socket
import stat
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from service_defaults.server import bind_tcp, listen_unix, listens_unix, served


async def greet(_: Request) -> Response:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", greet)])


async def test_small_replies_over_tcp_are_sent_at_once() -> None:
    told: asyncio.Queue[int] = asyncio.Queue()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        told.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    bound = bind_tcp("127.0.0.1", 0)
    async with await asyncio.start_server(connected, sock=bound) as server:
        _, writer = await asyncio.open_connection(*bound.getsockname())
        no_delay = await told.get()
        writer.close()
        await writer.wait_closed()
        server.close()

    assert no_delay


def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open() -> None:
    with bind_tcp("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(OSError, match="in use"):  # a socket left open would be a warning
            bind_tcp("127.0.0.1", first.getsockname()[1])


def test_a_unix_socket_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "control"
    with listen_unix(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(OSError, match="in use"):
            listen_unix(path)


def test_a_socket_whose_process_died_is_told_from_one_that_is_served(tmp_path: Path) -> None:
    path = tmp_path / "control"
    assert not listens_unix(path)
    with listen_unix(path):
        assert listens_unix(path)
    assert path.is_socket()
    assert not listens_unix(path)


async def test_a_server_in_a_process_of_others_answers_for_the_length_of_its_block(
    tmp_path: Path,
) -> None:
    path = tmp_path / "control"
    listener = listen_unix(path)
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    async with httpx.AsyncClient(transport=transport, base_url="http://lab") as client:
        async with served(APP, listener):
            assert (await client.get("/")).text == "hello"
        with pytest.raises(httpx.ConnectError):
            await client.get("/")


async def test_what_ends_the_block_comes_out_of_a_served_block_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with served(APP, listen_unix(tmp_path / "control")):
            raise ZeroDivisionError
