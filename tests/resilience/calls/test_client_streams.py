import asyncio
import gc
import math
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    AttemptTimeout,
    BreakerSettings,
    BulkheadFull,
    BulkheadSettings,
    CircuitOpen,
    Fallback,
    HedgeSettings,
    Policies,
    ResilientClient,
    RetrySettings,
    Source,
    StreamIdle,
)
from tests.resilience.peers import read_request, scripted_peer, uvicorn_peer

PART = b"x" * 65_536
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"


async def app(scope: dict[str, object], _receive: object, send: object) -> None:
    """Stream /big (16 MB), /endless (650 MB), /slow (a part every 50 ms) or fail with 503.

    Not longer: once the client has gone, what is left is sent to nobody in one go, and uvicorn
    answers no other request before that is done.
    """
    assert callable(send)
    parts = {"/big": 256, "/endless": 10_000, "/slow": 4}.get(str(scope["path"]))
    status = 200 if parts else 503
    await send({"type": "http.response.start", "status": status, "headers": []})
    for _ in range(parts or 0):
        if scope["path"] == "/slow":
            await asyncio.sleep(0.05)
        await send({"type": "http.response.body", "body": PART, "more_body": True})
    await send({"type": "http.response.body", "body": b"end"})


def client_of(
    url: str, policies: Policies | None = None, *, max_connections: int = 100
) -> ResilientClient:
    source = Source(name="files", base_url=url, policies=policies or Policies())
    return ResilientClient(
        [source], random=Random(1), max_connections=max_connections, max_response_bytes=1_000_000
    )


async def test_a_streamed_body_may_be_larger_than_a_read_one_and_is_never_held_whole() -> None:
    largest, received = 0, 0
    with uvicorn_peer(app) as url:
        async with (
            client_of(url) as client,
            client.stream("GET", "files", "/big") as response,
        ):
            assert response.status_code == 200
            async for part in response.aiter_bytes():
                largest, received = max(largest, len(part)), received + len(part)
    assert received == 256 * len(PART) + len(b"end")
    assert largest < 1_000_000


async def test_time_outs_of_the_policies_end_with_the_headers() -> None:
    policies = Policies(total_timeout_s=0.15, attempt_timeout_s=0.1)
    with uvicorn_peer(app) as url:
        async with client_of(url, policies) as client:
            async with client.stream("GET", "files", "/slow", idle_timeout_s=5) as response:
                received = len(await response.aread())
            with pytest.raises(AttemptTimeout):
                await client.get("files", "/slow")
    assert received == 4 * len(PART) + len(b"end")


async def silent_after_a_part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(HEAD + b"o")
    await writer.drain()
    await reader.read()


async def test_a_body_that_pauses_too_long_ends_in_stream_idle() -> None:
    async with scripted_peer(silent_after_a_part) as url, client_of(url) as client:
        parts: list[bytes] = []
        with pytest.raises(StreamIdle, match=r"silent for 0\.05 s"):
            async with client.stream("GET", "files", "/", idle_timeout_s=0.05) as response:
                parts += [part async for part in response.aiter_bytes()]


@pytest.mark.parametrize(
    ("limit_s", "error"),
    [
        (math.nan, ValueError),
        (math.inf, ValueError),
        (-1, ValueError),
        (0, ValueError),
        ("5", TypeError),
        (True, TypeError),
    ],
)
async def test_an_idle_limit_that_is_none_is_refused_before_anything_is_sent(
    limit_s: Any,  # noqa: ANN401
    error: type[Exception],
) -> None:
    async with client_of("http://127.0.0.1:9") as client:
        with pytest.raises(error, match=r"^idle_timeout_s .*None for no limit"):
            async with client.stream("GET", "files", "/", idle_timeout_s=limit_s):
                pass
        assert client.statistics("files").requests == 0


async def broken_after_a_part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(HEAD + b"o")
    await writer.drain()


async def test_a_body_that_breaks_off_is_an_error_and_is_not_retried() -> None:
    policies = Policies(retry=RetrySettings(max_retries=3, base_delay_s=0))
    async with scripted_peer(broken_after_a_part) as url, client_of(url, policies) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            async with client.stream("GET", "files", "/") as response:
                await response.aread()


async def test_a_transient_answer_is_retried_and_its_connection_used_again() -> None:
    policies = Policies(retry=RetrySettings(max_retries=3, base_delay_s=0))
    connections = 0

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for reply in (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", HEAD + b"done"):
            await read_request(reader)
            writer.write(reply)
            await writer.drain()

    async with (
        scripted_peer(behave) as url,
        client_of(url, policies) as client,
        client.stream("GET", "files", "/") as response,
    ):
        assert await response.aread() == b"done"
    assert connections == 1


async def test_what_the_retries_could_not_cure_comes_back_read() -> None:
    with uvicorn_peer(app) as url:
        async with client_of(url) as client, client.stream("GET", "files", "/sick") as response:
            assert (response.status_code, response.content) == (503, b"end")
            assert [part async for part in response.aiter_bytes()] == [b"end"]


@pytest.mark.parametrize("leaving", ["break", "error", "cancel"])
async def test_a_stream_that_is_left_early_gives_its_connection_back(leaving: str) -> None:
    """With a single connection, one that leaked would make the last call wait for ever."""
    with uvicorn_peer(app) as url:
        async with client_of(url, max_connections=1) as client:

            async def read_some() -> None:
                async with client.stream("GET", "files", "/endless") as response:
                    async for _ in response.aiter_bytes():
                        if leaving == "break":
                            break
                        if leaving == "error":
                            raise LookupError
                        task.cancel()

            task = asyncio.create_task(read_some())
            await asyncio.wait([task])
            async with asyncio.timeout(5), client.stream("GET", "files", "/big") as response:
                assert response.status_code == 200
    assert task.cancelled() == (leaving == "cancel")
    assert leaving != "error" or isinstance(task.exception(), LookupError)
    gc.collect()  # an unclosed connection would warn here, and warnings are errors


async def test_the_breaker_judges_a_stream_by_its_headers() -> None:
    policies = Policies(breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1))
    with uvicorn_peer(app) as url:
        async with client_of(url, policies) as client:
            async with client.stream("GET", "files", "/sick"):
                pass
            with pytest.raises(CircuitOpen):
                async with client.stream("GET", "files", "/big"):
                    raise AssertionError("the block runs without a response")


@pytest.mark.virtual_clock
async def test_an_idle_limit_is_on_each_part_and_not_on_their_sum() -> None:
    class Parts(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for pause_s in (2, 2, 2, 4):
                await asyncio.sleep(pause_s)
                yield b"part"

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Parts())

    source = Source(name="files", base_url="http://files.test")
    received: list[bytes] = []
    async with ResilientClient(
        [source], random=Random(1), transport=httpx.MockTransport(answer)
    ) as client:
        with pytest.raises(StreamIdle):
            async with client.stream("GET", "files", "/", idle_timeout_s=3) as response:
                received += [part async for part in response.aiter_bytes()]
        async with client.stream("GET", "files", "/", idle_timeout_s=None) as response:
            assert await response.aread() == b"part" * 4


@pytest.mark.parametrize("leaving", ["read", "unread", "cancelled"])
async def test_a_stream_holds_its_slot_until_it_is_left(leaving: str) -> None:
    policies = Policies(bulkhead=BulkheadSettings(max_concurrent=1, max_queue=0))
    with uvicorn_peer(app) as url:
        async with client_of(url, policies) as client:

            async def hold() -> None:
                async with client.stream("GET", "files", "/slow") as response:
                    opened.set()
                    if leaving == "cancelled":
                        await asyncio.Event().wait()
                    if leaving == "read":
                        await response.aread()
                    with pytest.raises(BulkheadFull):
                        await client.get("files", "/slow")

            opened = asyncio.Event()
            holder = asyncio.create_task(hold())
            await opened.wait()
            if leaving == "cancelled":
                with pytest.raises(BulkheadFull):
                    await client.get("files", "/slow")
                holder.cancel()
            await asyncio.wait([holder])
            assert holder.cancelled() == (leaving == "cancelled")
            assert (await client.get("files", "/slow")).status_code == 200


class Body(httpx.AsyncByteStream):
    """A body that knows whether it has been closed."""

    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"part"

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True


@pytest.mark.virtual_clock
async def test_a_stream_that_a_fallback_replaces_is_closed_and_its_slot_free_in_the_block() -> None:
    opened: list[Body] = []

    def answer(_: httpx.Request) -> httpx.Response:
        opened.append(Body())
        return httpx.Response(206, stream=opened[-1])

    policies = Policies(
        fallback=Fallback(
            answer=lambda _request, _failure: httpx.Response(200, content=b"kept"),
            when=lambda outcome: isinstance(outcome, httpx.Response),
        ),
        bulkhead=BulkheadSettings(max_concurrent=1, max_queue=0),
    )
    source = Source(name="files", base_url="http://files.test", policies=policies)
    async with (
        ResilientClient(
            [source], random=Random(1), transport=httpx.MockTransport(answer)
        ) as client,
        client.stream("GET", "files", "/") as response,
    ):
        assert await response.aread() == b"kept"
        assert opened[0].closed
        assert (await client.get("files", "/")).content == b"kept"
    assert len(opened) == 2


@pytest.mark.virtual_clock
async def test_a_stream_that_lost_a_race_is_closed_and_its_slot_free_in_the_block() -> None:
    opened: list[Body] = []

    async def answer(_: httpx.Request) -> httpx.Response:
        body = Body()
        opened.append(body)
        with suppress(asyncio.CancelledError):  # its headers came as it was cancelled
            await asyncio.sleep(9 if body is opened[0] else 0.5)
        return httpx.Response(200, stream=body)

    policies = Policies(
        hedge=HedgeSettings(delay_s=1),
        bulkhead=BulkheadSettings(max_concurrent=2, max_queue=0),
    )
    source = Source(name="files", base_url="http://files.test", policies=policies)
    async with ResilientClient(
        [source], random=Random(1), transport=httpx.MockTransport(answer)
    ) as client:
        async with client.stream("GET", "files", "/") as response:
            bodies = opened[:2]
            assert sorted(body.closed for body in bodies) == [False, True]
            assert (await client.get("files", "/")).content == b"part"
        assert response.is_closed
    assert all(body.closed for body in bodies)


async def test_a_stream_that_never_opened_holds_no_slot() -> None:
    policies = Policies(
        bulkhead=BulkheadSettings(max_concurrent=1, max_queue=0), attempt_timeout_s=0.05
    )

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with scripted_peer(silent) as url, client_of(url, policies) as client:
        for _ in range(2):
            with pytest.raises(AttemptTimeout):
                async with client.stream("GET", "files", "/"):
                    raise AssertionError("the block runs without a response")
