import asyncio
import socket
import time

import pytest

from fault_proxy import (
    Bandwidth,
    BlackHole,
    Corrupt,
    HalfClose,
    Latency,
    Limit,
    Proxy,
    Refuse,
    Reset,
    Slice,
)
from fault_proxy.faults.documents import AnyByteFault
from tests.fault_proxy.conftest import Pair
from tests.fault_proxy.peers import Peer

SOON_S = 0.05  # what passes at once has passed long before, or nearly


async def round_trip_s(client: Peer, data: bytes = b"ping") -> float:
    started_s = time.perf_counter()
    await client.send(data)
    assert await client.receive(len(data)) == data
    return time.perf_counter() - started_s


async def test_latency_delays_each_direction_and_ends(echoing: Proxy) -> None:
    async with await Peer.connect(echoing.address) as client:
        await round_trip_s(client)
        fault = echoing.apply(Latency(delay_ms=100))
        assert await round_trip_s(client) >= 0.2

        echoing.end(fault.id)
        assert await round_trip_s(client) < 0.1


async def test_latency_in_one_direction_leaves_the_other_alone(pair: Pair) -> None:
    pair.proxy.apply(Latency(delay_ms=10_000, direction="upstream"))
    await pair.client.send(b"late")
    await pair.server.send(b"now")

    assert await pair.client.receive(3) == b"now"
    assert await pair.server.receives_nothing(SOON_S)


async def test_jitter_keeps_the_order(echoing: Proxy) -> None:
    echoing.apply(Latency(delay_ms=10, jitter_ms=10))
    async with await Peer.connect(echoing.address) as client:
        for number in range(20):
            await client.send(b"%02d" % number)
            await asyncio.sleep(0.002)

        assert await client.receive(40) == b"".join(b"%02d" % number for number in range(20))


async def test_what_latency_holds_goes_on_when_it_ends(pair: Pair) -> None:
    fault = pair.proxy.apply(Latency(delay_ms=60_000))
    await pair.client.send(b"held")
    pair.client.end()
    assert await pair.server.receives_nothing(SOON_S)

    pair.proxy.end(fault.id)
    assert await pair.server.receive_all() == b"held"


async def test_bandwidth_limits_the_bytes_per_second_and_ends(pair: Pair) -> None:
    fault = pair.proxy.apply(Bandwidth(bytes_per_s=100_000, direction="upstream"))
    sending = asyncio.create_task(pair.client.send(bytes(1_000_000)))
    started_s = time.perf_counter()
    await pair.server.receive(35_000)
    took_s = time.perf_counter() - started_s
    assert took_s >= 0.25  # 5,000 bytes are a burst

    pair.proxy.end(fault.id)
    assert len(await pair.server.receive(965_000, within_s=2)) == 965_000
    await sending


async def test_slicing_delivers_pieces_with_pauses_and_ends(pair: Pair) -> None:
    fault = pair.proxy.apply(Slice(piece_bytes=4, every_ms=20))
    await pair.client.send(b"0123456789")
    pieces = [await pair.server.receive_some() for _ in range(3)]
    assert pieces == [b"0123", b"4567", b"89"]

    pair.proxy.end(fault.id)
    await pair.client.send(b"0123456789")
    assert await pair.server.receive_some() == b"0123456789"


async def test_a_black_hole_accepts_and_says_nothing_until_it_ends(echoing: Proxy) -> None:
    fault = echoing.apply(BlackHole())
    async with await Peer.connect(echoing.address) as client:
        await client.send(b"hello")
        assert await client.receives_nothing(SOON_S)

        echoing.end(fault.id)
        assert await client.receive(5) == b"hello"


async def test_a_black_hole_reads_no_more_than_it_can_hold(pair: Pair) -> None:
    pair.proxy.apply(BlackHole())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await pair.client.send(bytes(64 * 2**20))


@pytest.mark.parametrize("fault", [Reset(), Reset(after_ms=20), Reset(after_bytes=0)])
async def test_a_reset_reaches_both_ends_of_an_idle_connection(fault: Reset, pair: Pair) -> None:
    pair.proxy.apply(fault)

    for end in (pair.client, pair.server):
        with pytest.raises(ConnectionResetError):
            await end.receive(1)


async def test_a_reset_after_so_many_bytes_lets_these_pass(pair: Pair) -> None:
    pair.proxy.apply(Reset(after_bytes=4, direction="downstream"))
    await pair.client.send(b"any number of bytes upstream")
    await pair.server.receive(28)
    await pair.server.send(b"123")
    assert await pair.client.receive(3) == b"123"

    await pair.server.send(b"456")
    with pytest.raises(ConnectionResetError):
        await pair.server.receive(1)


async def test_connections_after_a_reset_fault_are_well(echoing: Proxy) -> None:
    fault = echoing.apply(Reset())
    async with await Peer.connect(echoing.address) as client:
        with pytest.raises(ConnectionResetError):
            await client.receive(1)
    echoing.end(fault.id)

    async with await Peer.connect(echoing.address) as client:
        await round_trip_s(client)


async def test_refused_connects_fail_and_the_same_port_listens_again(echoing: Proxy) -> None:
    async with await Peer.connect(echoing.address) as standing:
        fault = echoing.apply(Refuse())
        with pytest.raises(ConnectionRefusedError):
            await Peer.connect(echoing.address)
        with pytest.raises(OSError, match="in use"), socket.socket() as other:
            other.bind(echoing.address)
        await round_trip_s(standing)

        echoing.end(fault.id)
        async with await Peer.connect(echoing.address) as client:
            await round_trip_s(client)


async def test_one_of_two_refusals_is_enough(echoing: Proxy) -> None:
    first, second = echoing.apply(Refuse()), echoing.apply(Refuse())
    echoing.end(first.id)
    with pytest.raises(ConnectionRefusedError):
        await Peer.connect(echoing.address)

    echoing.end(second.id)
    (await Peer.connect(echoing.address)).close()


async def test_half_closed_ends_one_direction_only(pair: Pair) -> None:
    fault = pair.proxy.apply(HalfClose(direction="downstream", after_bytes=3))
    await pair.server.send(b"12345")
    assert await pair.client.receive_all() == b"123"
    await pair.client.send(b"still open")
    assert await pair.server.receive(10) == b"still open"

    pair.proxy.end(fault.id)
    pair.client.end()
    assert await pair.server.receive_all() == b""


async def test_a_limit_closes_both_ends_after_so_many_bytes(pair: Pair) -> None:
    fault = pair.proxy.apply(Limit(bytes=7, direction="upstream"))
    await pair.client.send(b"0123456789")

    assert await pair.server.receive_all() == b"0123456"
    assert await pair.client.receive_all() == b""
    pair.proxy.end(fault.id)


async def test_connections_after_a_limit_pass_everything(echoing: Proxy) -> None:
    fault = echoing.apply(Limit(bytes=2))
    async with await Peer.connect(echoing.address) as client:
        await client.send(b"ping")
        assert await client.receive_all() in (b"", b"pi")
    echoing.end(fault.id)

    async with await Peer.connect(echoing.address) as client:
        await round_trip_s(client)


async def test_corruption_changes_about_its_share_of_the_bytes_and_ends(pair: Pair) -> None:
    fault = pair.proxy.apply(Corrupt(share=0.1, seed=7))
    await pair.client.send(bytes(10_000))
    received = await pair.server.receive(10_000)
    assert 800 < sum(byte != 0 for byte in received) < 1_200

    pair.proxy.end(fault.id)
    await pair.client.send(bytes(10_000))
    assert await pair.server.receive(10_000) == bytes(10_000)


async def test_the_rate_is_rolled_once_a_connection_and_seeded(echoing: Proxy) -> None:
    async def fates(seed: int) -> list[bool]:
        fault = echoing.apply(Corrupt(share=1, probability=0.5, seed=seed))
        fates = []
        for _ in range(20):
            async with await Peer.connect(echoing.address) as client:
                await client.send(b"ping")
                fates.append(await client.receive(4) == b"ping")
        echoing.end(fault.id)
        return fates

    first = await fates(seed=3)

    assert 4 < sum(first) < 16
    assert await fates(seed=3) == first
    assert await fates(seed=4) != first


@pytest.mark.parametrize(
    "fault",
    [
        Latency(delay_ms=10_000, probability=0),
        Bandwidth(bytes_per_s=1, probability=0),
        Slice(piece_bytes=1, every_ms=1_000, probability=0),
        BlackHole(probability=0),
        Reset(probability=0),
        HalfClose(probability=0),
        Limit(bytes=0, probability=0),
        Corrupt(share=1, probability=0),
    ],
    ids=lambda fault: fault.kind,
)
async def test_rate_0_has_no_effect(fault: AnyByteFault, echoing: Proxy) -> None:
    active = echoing.apply(fault)
    async with await Peer.connect(echoing.address) as client:
        await round_trip_s(client, bytes(range(256)) * 10)

        assert active.touched == echoing.counts().hit_connections == 0


async def test_a_fault_ends_by_itself_unless_it_is_renewed(echoing: Proxy) -> None:
    async with await Peer.connect(echoing.address) as client:
        fault = echoing.apply(BlackHole(ttl_s=0.1))
        await client.send(b"ping")
        assert await client.receives_nothing(SOON_S)
        echoing.renew(fault.id, 0.2)
        assert await client.receives_nothing(0.1)

        assert await client.receive(4, within_s=2) == b"ping"
        assert echoing.faults() == ()


async def test_several_faults_act_at_once_and_end_apart(echoing: Proxy) -> None:
    async with await Peer.connect(echoing.address) as client:
        late = echoing.apply(Latency(delay_ms=60))
        noisy = echoing.apply(Corrupt(share=1, direction="upstream"))
        await client.send(b"ping")
        started_s = time.perf_counter()
        assert await client.receive(4) != b"ping"
        assert time.perf_counter() - started_s >= 0.1

        echoing.end(noisy.id)
        assert await round_trip_s(client) >= 0.12
        echoing.end(late.id)
        assert await round_trip_s(client) < 0.06
