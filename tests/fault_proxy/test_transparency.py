import asyncio

import pytest

from fault_proxy import (
    Bandwidth,
    BlackHole,
    Corrupt,
    Delay,
    Drip,
    HalfClose,
    Latency,
    Limit,
    Match,
    Proxy,
    Reset,
    Slice,
    Status,
    Truncate,
)
from fault_proxy.faults.documents import AnyFault
from tests.fault_proxy import streams
from tests.fault_proxy.conftest import Pair
from tests.fault_proxy.peers import Peer, Upstream

AT_RATE_0: tuple[AnyFault, ...] = (
    Latency(delay_ms=10_000, probability=0),
    Bandwidth(bytes_per_s=1, probability=0),
    Slice(piece_bytes=1, probability=0),
    BlackHole(probability=0),
    Reset(probability=0),
    HalfClose(probability=0),
    Limit(bytes=0, probability=0),
    Corrupt(share=1, probability=0),
    Status(probability=0),
    Delay(delay_ms=10_000, probability=0),
    Drip(probability=0),
    Truncate(probability=0),
)


async def test_random_streams_pass_unchanged_without_a_fault() -> None:
    kinds = await streams.run(200, seed=1)

    assert kinds.keys() == {"raw", "http", "flipped", "cut_off", "switched"}


async def test_random_streams_pass_unchanged_with_every_fault_at_rate_0() -> None:
    def apply_all(proxy: Proxy) -> None:
        for fault in AT_RATE_0:
            proxy.apply(fault)

    assert (await streams.run(30, seed=2, prepare=apply_all)).total() == 30


async def test_random_streams_pass_unchanged_where_time_alone_is_changed() -> None:
    def apply_some(proxy: Proxy) -> None:
        proxy.apply(Latency(delay_ms=5, jitter_ms=5))
        proxy.apply(Bandwidth(bytes_per_s=50_000_000))
        proxy.apply(Slice(piece_bytes=100_000, every_ms=1))
        proxy.apply(Status(match=Match(path="/never")))

    assert (await streams.run(30, seed=3, prepare=apply_some)).total() == 30


async def test_the_end_of_a_stream_ends_one_direction_only(pair: Pair) -> None:
    await pair.client.send(b"all of it")
    pair.client.end()
    assert await pair.server.receive_all() == b"all of it"
    await pair.server.send(b"answer")
    assert await pair.client.receive(6) == b"answer"
    pair.server.end()

    assert await pair.client.receive_all() == b""
    await asyncio.sleep(0.05)
    assert pair.proxy.counts().open_connections == 0


@pytest.mark.parametrize("end", ["client", "server"])
async def test_a_reset_of_one_end_reaches_the_other(end: str, pair: Pair) -> None:
    dying, other = (pair.client, pair.server) if end == "client" else (pair.server, pair.client)
    dying.reset()

    with pytest.raises(ConnectionResetError):
        await other.receive(1)


async def test_a_client_of_an_upstream_that_is_not_there_is_reset() -> None:
    gone = Upstream()
    gone.close()
    async with (
        Proxy("127.0.0.1:0", gone.address) as proxy,
        await Peer.connect(proxy.address) as client,
    ):
        with pytest.raises(ConnectionResetError):
            await client.receive(1)

        assert proxy.counts().unreachable == 1


async def test_a_receiver_that_does_not_read_slows_the_sender_down(pair: Pair) -> None:
    data = bytes(64 * 2**20)
    sending = asyncio.create_task(pair.client.send(data))
    await asyncio.sleep(0.3)
    assert not sending.done()
    held_bytes = pair.proxy.counts().upstream_bytes
    assert held_bytes < 32 * 2**20

    received = 0
    while received < len(data):
        received += len(await pair.server.receive_some())
    await sending


async def test_leaving_closes_every_connection() -> None:
    upstream = Upstream()
    async with Proxy("127.0.0.1:0", upstream.address) as proxy:
        client = await Peer.connect(proxy.address)
        server = await upstream.accept()
        await server.send(b"x")
        assert await client.receive(1) == b"x"
        proxy.apply(BlackHole())
        await client.send(b"held")
    for end in (client, server):
        with pytest.raises(ConnectionResetError):
            await end.receive(1)
        end.close()
    upstream.close()

    with pytest.raises(ConnectionRefusedError):
        await Peer.connect(proxy.address)


async def test_an_error_inside_leaves_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with Proxy("127.0.0.1:0", "127.0.0.1:1"):
            raise KeyError("mine")


async def test_leaving_waits_for_no_connection_that_is_about_to_open() -> None:
    upstream = Upstream()
    for _ in range(20):
        async with Proxy("127.0.0.1:0", upstream.address) as proxy:
            clients = [await Peer.connect(proxy.address) for _ in range(5)]
        for client in clients:
            client.close()
    upstream.close()
