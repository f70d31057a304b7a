"""Replies that are legal, broken or cut, and what the client makes of them."""

import asyncio

import httpx
import pytest

from resilience import (
    BreakerSettings,
    Fallback,
    Policies,
    UndecodableBody,
)
from tests.resilience.peers import read_request, scripted_peer
from tests.resilience.wire.one_source import AT_ONCE, client_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
TWICE = BreakerSettings(failure_ratio=None, consecutive_failures=2)


async def test_a_reason_phrase_of_any_bytes_is_an_ordinary_answer() -> None:
    """It used to keep its connection for good."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            writer.write(b"HTTP/1.1 500 Erreur int\xe9rieure\r\nContent-Length: 3\r\n\r\nabc")
            await writer.drain()

    policies = Policies(retry=AT_ONCE, attempt_timeout_s=5)
    async with scripted_peer(behave) as url, client_of(url, policies, max_connections=1) as client:
        for _ in range(3):
            response = await client.get("s", "/")
            assert (response.status_code, response.text) == (500, "abc")
    assert client.statistics("s").attempts == 9


@pytest.mark.parametrize("status", [429, 503])
async def test_a_failing_status_counts_though_its_body_is_cut(status: int) -> None:
    head = f"HTTP/1.1 {status} No\r\nRetry-After: 7\r\nContent-Length: 50\r\n\r\nSlow down".encode()

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)

    async with scripted_peer(behave) as url, client_of(url, Policies(breaker=TWICE)) as client:
        responses = [await client.post("s", "/") for _ in range(2)]
    seen = {(each.status_code, each.headers["retry-after"]) for each in responses}
    assert seen == {(status, "7")}
    assert client.statistics("s").circuit == ("closed" if status == 429 else "open")


async def test_a_response_says_how_long_it_took() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await asyncio.sleep(0.05)
        writer.write(OK)

    async with scripted_peer(behave) as url, client_of(url) as client:
        assert (await client.get("s", "/")).elapsed.total_seconds() >= 0.05


@pytest.mark.parametrize("header", ["", "  "])
async def test_an_empty_idempotency_key_is_none(header: str) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()

    async with scripted_peer(behave) as url, client_of(url, Policies(retry=AT_ONCE)) as client:
        await client.post("s", "/", headers={"Idempotency-Key": header})
    assert client.statistics("s").attempts == 1


async def test_a_fallback_answers_for_a_body_that_cannot_be_decoded() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain")

    policies = Policies(fallback=Fallback(answer=lambda _request, _failure: httpx.Response(203)))
    async with scripted_peer(behave) as url, client_of(url, policies) as client:
        assert (await client.get("s", "/")).status_code == 203


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "gzip"])
@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_an_answer_without_a_body_may_name_any_coding(
    coding: str, method: str, status: int
) -> None:
    head = f"HTTP/1.1 {status} OK\r\nContent-Encoding: {coding}\r\n\r\n".encode()

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        await writer.drain()

    async with scripted_peer(behave) as url, client_of(url) as client:
        response = await client.request(method, "s", "/")
    assert (response.status_code, response.content) == (status, b"")


async def test_a_stream_that_cannot_be_decoded_is_told_as_of_any_other_call() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nno")

    async with (
        scripted_peer(behave) as url,
        client_of(url) as client,
        client.stream("GET", "s", "/") as response,
    ):
        with pytest.raises(UndecodableBody):
            await response.aread()


async def test_a_failing_stream_that_falls_silent_ends_as_its_status() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 503 No\r\nContent-Length: 50\r\n\r\nwait")
        await reader.read()  # until the client hangs up

    async with (
        scripted_peer(behave) as url,
        client_of(url) as client,
        client.stream("GET", "s", "/", idle_timeout_s=0.1) as response,
    ):
        assert (response.status_code, await response.aread()) == (503, b"")
        assert response.elapsed.total_seconds() > 0


async def test_a_fallbacks_answer_says_how_long_it_took() -> None:
    policies = Policies(fallback=Fallback(answer=lambda _request, _failure: httpx.Response(203)))
    async with client_of("http://127.0.0.1:9", policies) as client:
        assert (await client.get("s", "/")).elapsed.total_seconds() >= 0


@pytest.mark.parametrize(
    "reply",
    [
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"",
    ],
    ids=["garbage", "bad-chunk", "cut", "silence"],
)
async def test_an_error_does_not_tell_the_query_of_its_request(reply: bytes) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(reply)

    async with scripted_peer(behave) as url, client_of(url) as client:
        with pytest.raises(httpx.RemoteProtocolError) as raised:
            await client.get("s", "/", params={"api_key": "hunter2"})
    assert str(raised.value)
    assert "hunter2" not in repr(raised.value)
