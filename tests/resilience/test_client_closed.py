import asyncio
from random import Random

import httpx
import pytest

from resilience import Policies, ResilientClient, RetrySettings, Source
from resilience._internal.wire.transport import AttemptTransport
from tests.resilience.peers import read_request, scripted_peer


async def test_a_closed_client_says_so_and_counts_nothing() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    source = Source(name="rates", base_url="http://rates.test")
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        await client.get("rates", "/")
    with pytest.raises(RuntimeError, match="the client is closed"):
        await client.get("rates", "/")
    with pytest.raises(RuntimeError, match="the client is closed"):
        async with client.stream("GET", "rates", "/"):
            pass
    await client.aclose()
    assert client.statistics("rates").requests == 1


async def test_a_transport_closed_before_its_first_request_opens_no_connection() -> None:
    transport = AttemptTransport()
    await transport.aclose()
    with pytest.raises(RuntimeError, match="the client is closed"):
        await transport.handle_async_request(httpx.Request("GET", "http://127.0.0.1:9"))
    assert transport.client is None


async def test_a_call_that_would_be_retried_after_the_close_says_so_too() -> None:
    arrived = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)
        arrived.set()
        await reader.read()

    policies = Policies(total_timeout_s=10, retry=RetrySettings(base_delay_s=0))
    async with scripted_peer(silent) as url:
        source = Source(name="rates", base_url=url, policies=policies)
        async with ResilientClient([source], random=Random(1)) as client:
            call = asyncio.create_task(client.get("rates", "/"))
            await arrived.wait()
        with pytest.raises(RuntimeError, match="the client is closed"):
            await call


async def test_a_transport_that_fails_to_close_does_not_keep_the_others_open() -> None:
    closed: list[str] = []

    class Stubborn(httpx.AsyncBaseTransport):
        async def aclose(self) -> None:
            closed.append("tried")
            raise OSError("busy")

    sources = [Source(name=name, base_url="http://rates.test") for name in ("one", "two")]
    client = ResilientClient(sources, random=Random(1))
    client.wrap_transports(lambda _: Stubborn())
    with pytest.raises(OSError, match="busy"):
        await client.aclose()
    assert closed == ["tried", "tried"]
