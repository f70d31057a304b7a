"""A proxy in front of a peer that the test plays."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import pytest
import uvloop

from fault_proxy import Proxy
from tests.fault_proxy.peers import HttpService, Peer, Upstream, echo, serving


def pytest_asyncio_loop_factories(
    config: pytest.Config,  # noqa: ARG001 - the hook's signature
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Let the proxy run on the loop that its command uses, the random streams on the other."""
    if "random_streams" in item.name:
        return {"asyncio": asyncio.new_event_loop}
    return {"uvloop": uvloop.new_event_loop}


@dataclass(frozen=True, slots=True)
class HttpLink:
    """A proxy, and the service behind it."""

    proxy: Proxy
    service: HttpService


@pytest.fixture
async def echoing() -> AsyncIterator[Proxy]:
    """Yield a proxy before a server that sends back what it gets."""
    async with serving(echo) as upstream, Proxy("127.0.0.1:0", upstream, seed=1) as proxy:
        yield proxy


@pytest.fixture
async def http() -> AsyncIterator[HttpLink]:
    """Yield a proxy before an HTTP service."""
    service = HttpService()
    async with (
        serving(service.handle) as upstream,
        Proxy("127.0.0.1:0", upstream, seed=1) as proxy,
    ):
        yield HttpLink(proxy, service)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both ends of one connection through a proxy."""

    proxy: Proxy
    client: Peer
    server: Peer


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    """Yield the ends of a connection that stands."""
    upstream = Upstream()
    async with Proxy("127.0.0.1:0", upstream.address, seed=1) as proxy:
        client = await Peer.connect(proxy.address)
        server = await upstream.accept()
        try:
            yield Pair(proxy, client, server)
        finally:
            client.close()
            server.close()
            upstream.close()
