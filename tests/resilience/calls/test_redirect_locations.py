"""A redirect is an answer; calling again with its location works, at the same source only."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import httpx
import pytest

from resilience import HttpError, ResilientClient, Source
from tests.resilience.peers import read_request, scripted_peer

SECRET = "hunter2"  # noqa: S105 - a test's


@asynccontextmanager
async def redirecting(location: str, *, base_path: str = "") -> AsyncIterator[ResilientClient]:
    """Yield a client of a server whose /old is at `location`, with HOST for its own address."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await read_request(reader):
            target = request.split()[1].decode()
            own = url.removeprefix("http://")
            where = location.replace("HOST", own)
            is_old = target == f"{base_path}/old?a=1"
            head = f"308 Moved\r\nLocation: {where}" if is_old else "200 OK"
            body = "" if is_old else f"{target} {SECRET in request.decode()}"
            writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()

    async with scripted_peer(behave) as url:
        headers = {"authorization": SECRET}
        source = Source(name="s", base_url=url + base_path, headers=headers)
        async with ResilientClient([source], random=Random(1)) as client:
            yield client


async def call_again(client: ResilientClient, response: httpx.Response) -> httpx.Response:
    """Do what the page says."""
    return await client.get("s", str(response.url.join(response.headers["location"])))


@pytest.mark.parametrize("base_path", ["", "/v1"])
@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("http://HOST/new?b=2", "/new?b=2"),
        ("HTTP://HOST/new", "/new"),
        ("//HOST/new", "/new"),
        ("/new#top", "/new"),
        ("new", "{base}/new"),
        ("./a/../b", "{base}/b"),
        ("?page=2", "{base}/old?page=2"),
        ("http://HOST", "/"),
        ("http://HOST/a%2Fb/%D0%BA?x=%26", "/a%2Fb/%D0%BA?x=%26"),
    ],
)
async def test_calling_again_with_the_location_reaches_where_it_leads(
    location: str, leads_to: str, base_path: str
) -> None:
    async with redirecting(location, base_path=base_path) as client:
        response = await client.get("s", "/old?a=1")
        assert response.status_code == 308
        again = await call_again(client, response)
    assert again.text == f"{leads_to.format(base=base_path)} True"  # with the source's headers


async def test_an_absolute_location_may_be_passed_as_it_is() -> None:
    async with redirecting("http://HOST/new") as client:
        response = await client.get("s", "/old", params={"a": 1})
        again = await client.get("s", response.headers["location"], params={"b": 2})
    assert again.text == "/new?b=2 True"


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("http://127.0.0.1:9/new?token=hunter2", "http://127.0.0.1:9"),
        ("//evil.test/new", "http://evil.test"),
        ("https://HOST/new", "https://127.0.0.1:"),
        ("http://user:hunter2@evil.test/", "http://evil.test"),
        ("http://HOST@evil.test/", "http://evil.test"),
        ("http://evil.test/HOST", "http://evil.test"),
        ("ftp://HOST/new", "ftp://127.0.0.1:"),
        ("http://localhost/", "http://localhost"),
    ],
)
async def test_a_location_of_others_is_refused_and_nothing_is_sent(
    location: str, place: str
) -> None:
    async with redirecting(location) as client:
        response = await client.get("s", "/old?a=1")
        with pytest.raises(ValueError, match="make a Source for that address") as raised:
            await call_again(client, response)
        assert SECRET not in str(raised.value)
        assert f"the URL leads to {place}" in str(raised.value)
        assert client.statistics("s").requests == 1


@pytest.mark.parametrize(
    "location", ["http://user:hunter2@HOST/new", "http://HOST/a/%2e%2e/b", "http://HOST/a%2f..%2fb"]
)
async def test_a_location_that_servers_may_read_otherwise_is_refused(location: str) -> None:
    async with redirecting(location) as client:
        response = await client.get("s", "/old?a=1")
        with pytest.raises(ValueError, match=r"the (URL|path of the URL) to http://127") as raised:
            await call_again(client, response)
        assert SECRET not in str(raised.value)


@pytest.mark.parametrize("given", ["http://s.test:80/x", "HTTP://S.test/x", "http://s.TEST/x"])
async def test_an_origin_is_the_same_however_it_is_written(given: str) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=request.url.path))
    source = Source(name="s", base_url="http://s.test/v1")
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        assert (await client.get("s", given)).text == "/x"


async def test_a_relative_location_as_it_is_tells_how_to_resolve_it() -> None:
    async with redirecting("new") as client:
        response = await client.get("s", "/old?a=1")
        with pytest.raises(ValueError, match="path must begin") as raised:
            await client.get("s", response.headers["location"])
    assert 'str(response.url.join(response.headers["location"]))' in str(raised.value)


async def test_a_typed_call_that_is_redirected_says_what_to_call() -> None:
    async with redirecting("http://HOST/new?token=hunter2") as client:
        with pytest.raises(HttpError, match="308") as raised:
            await client.get_json("s", "/old?a=1", as_type=dict)
        told = re.search(r"call (str\(.*\))$", str(raised.value))
        assert told is not None
        assert SECRET not in str(raised.value)
        resolved = eval(told[1], {"response": raised.value.response, "str": str})  # noqa: S307
        assert (await client.get("s", resolved)).text == "/new?token=hunter2 True"
