"""A request with several bodies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from loadgen import Closed, Load, Request, StatusRule, run_load
from loadgen.split import split_load

OK = StatusRule(statuses={"2xx": "ok"})
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def listener() -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """Serve until the block ends; yield the URL and what came: (path, body) of each request."""
    came: list[tuple[str, str]] = []
    talks: list[asyncio.Task[None] | None] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = head.partition("content-length: ")[2].split("\r\n")[0]
                body = await reader.readexactly(int(length or 0))
                came.append((head.split()[1], body.decode()))
                writer.write(REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", came
        await asyncio.gather(*filter(None, talks))


def load_of(*requests: Request, count: int, tasks: int = 1) -> Load:
    return Load(requests=requests, shape=Closed(requests=count, tasks=tasks), outcome=OK)


async def test_bodies_are_sent_one_after_another_and_from_the_first_again() -> None:
    async with listener() as (url, came):
        request = Request(method="POST", url=url, bodies=("a", "", "žluť"))
        samples = await run_load(load_of(request, count=7))

    assert [body for _, body in came] == ["a", "", "žluť", "a", "", "žluť", "a"]
    assert samples.outcome == ["ok"] * 7
    assert samples.request == [0] * 7


async def test_with_several_tasks_each_body_still_has_its_turn() -> None:
    async with listener() as (url, came):
        request = Request(method="POST", url=url, bodies=tuple("abcd"))
        await run_load(load_of(request, count=40, tasks=4))

    assert sorted(body for _, body in came) == sorted("abcd" * 10)


async def test_each_request_of_a_mix_has_its_own_bodies() -> None:
    async with listener() as (url, came):
        orders = Request(method="POST", url=f"{url}/orders", bodies=("1", "2"))
        browse = Request(url=f"{url}/items", weight=2)
        samples = await run_load(load_of(browse, orders, count=12))

    assert [body for path, body in came if path == "/orders"] == ["1", "2", "1", "2"]
    assert sorted(samples.request) == [0] * 8 + [1] * 4


def test_a_load_with_bodies_comes_back_from_its_document() -> None:
    load = load_of(Request(method="POST", url="http://h/", bodies=("a", "b")), count=1)

    assert Load.from_document(load.to_document()) == load


def test_one_body_and_several_are_refused_together() -> None:
    with pytest.raises(ValueError, match="either body or bodies"):
        Request(url="http://h/", body="a", bodies=("b",))


@pytest.mark.parametrize("shape", [Closed(requests=6, tasks=3), Closed(duration_s=1, tasks=3)])
def test_generators_that_share_a_load_share_its_bodies(shape: Closed) -> None:
    many = Request(method="POST", url="http://h/", bodies=("a", "b", "c", "d"))
    few = Request(method="POST", url="http://h/", bodies=("x",))
    parts = split_load(Load(requests=(many, few), shape=shape, outcome=OK), 3)

    assert [part.requests[0].bodies for part in parts] == [("a", "d"), ("b",), ("c",)]
    assert [part.requests[1].bodies for part in parts] == [("x",)] * 3
