"""A fault counts what it could have hit and what it did something to, and no more."""

import asyncio
from collections.abc import Callable

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
    Refuse,
    Reset,
    Slice,
    Status,
)
from fault_proxy.faults.documents import AnyByteFault, AnyFault
from tests.fault_proxy.conftest import HttpLink, Pair
from tests.fault_proxy.peers import Peer
from tests.fault_proxy.test_request_faults import GET

PATIENCE_S = 5.0
MESSAGE = b"ping" * 50


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 - the proxy tells nobody
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    "fault",
    [
        Latency(delay_ms=1),
        Bandwidth(bytes_per_s=100),
        Slice(piece_bytes=10),
        BlackHole(),
        Reset(),
        Reset(after_bytes=100),
        HalfClose(after_bytes=100),
        Limit(bytes=100),
        Corrupt(share=0.5),
    ],
    ids=lambda fault: fault.kind,
)
async def test_a_connection_is_touched_once_something_was_done_to_it(
    fault: AnyByteFault, echoing: Proxy
) -> None:
    active = echoing.apply(fault)
    async with await Peer.connect(echoing.address) as client:
        await client.send(MESSAGE)
        await until(lambda: active.touched > 0)
        told = echoing.tell(active)

    assert (told["arrived"], told["touched"]) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        Latency(delay_ms=0),
        Latency(delay_ms=100, probability=0),
        Bandwidth(bytes_per_s=10**9),
        Slice(piece_bytes=2**20, every_ms=1),
        Reset(after_bytes=10**9),
        Reset(after_ms=600_000),
        HalfClose(after_bytes=10**9),
        Limit(bytes=10**9),
        Corrupt(share=1e-9),
    ],
    ids=lambda fault: fault.kind,
)
async def test_a_connection_that_nothing_was_done_to_is_not_touched(
    fault: AnyByteFault, echoing: Proxy
) -> None:
    active = echoing.apply(fault)
    async with await Peer.connect(echoing.address) as client:
        await client.send(MESSAGE)
        assert await client.receive(len(MESSAGE)) == MESSAGE
        told = echoing.tell(active)

    assert (told["arrived"], told["touched"]) == (1, 0)


async def test_of_two_faults_the_one_that_cuts_the_bytes_is_the_one_that_touches(
    echoing: Proxy,
) -> None:
    cuts = echoing.apply(Slice(piece_bytes=10, every_ms=60_000))
    would_cut = echoing.apply(Limit(bytes=100))
    async with await Peer.connect(echoing.address) as client:
        await client.send(MESSAGE)
        await until(lambda: echoing.counts().upstream_bytes >= 10)

        assert (cuts.touched, would_cut.touched) == (1, 0)


@pytest.mark.parametrize(("piece_bytes", "touched"), [(2**20, 0), (10, 1)], ids=["whole", "cut"])
async def test_a_drip_touches_the_replies_whose_body_it_cuts(
    piece_bytes: int, touched: int, http: HttpLink
) -> None:
    active = http.proxy.apply(Drip(piece_bytes=piece_bytes, every_ms=1))
    async with await Peer.connect(http.proxy.address) as client:
        await client.ask(GET)

    assert (active.arrived, active.touched) == (1, touched)


async def test_a_drip_touches_a_body_that_its_pause_holds_up(pair: Pair) -> None:
    active = pair.proxy.apply(Drip(piece_bytes=2**20, every_ms=60_000))
    await pair.client.send(GET)
    await pair.server.message()
    await pair.server.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
    await pair.client.receive_some()
    assert active.touched == 0
    await pair.server.send(b"held")
    await until(lambda: active.touched == 1)


async def test_a_connection_that_stands_idle_in_a_black_hole_is_not_touched(echoing: Proxy) -> None:
    async with await Peer.connect(echoing.address) as client:
        await client.send(b"ping")
        assert await client.receive(4) == b"ping"
        told = echoing.tell(echoing.apply(BlackHole()))

    assert (told["arrived"], told["touched"]) == (1, 0)


async def test_connections_that_stand_are_told_apart_from_all_that_came(echoing: Proxy) -> None:
    active = echoing.apply(Latency(delay_ms=1))
    for is_kept in (False, True):
        client = await Peer.connect(echoing.address)
        await client.send(b"ping")
        assert await client.receive(4) == b"ping"
        if not is_kept:
            client.close()
            await until(lambda: echoing.counts().open_connections == 0)
    told = echoing.tell(active)
    client.close()

    assert (told["arrived"], told["touched"]) == (2, 2)
    assert told["standing"] == {"arrived": 1, "touched": 1}


async def test_a_connection_that_its_client_has_left_stands_no_more(echoing: Proxy) -> None:
    active = echoing.apply(BlackHole())  # which holds the end of the stream back as well
    async with await Peer.connect(echoing.address) as client:
        await client.send(MESSAGE)
        await until(lambda: active.touched > 0)
    await until(lambda: echoing.tell(active)["standing"] == {"arrived": 0, "touched": 0})

    assert echoing.tell(active)["touched"] == echoing.counts().open_connections == 1


@pytest.mark.parametrize(
    ("fault", "counts"),
    [
        (Status(match=Match(path="/rates")), (2, 2)),
        (Status(match=Match(path="/typo")), (0, 0)),
        (Status(probability=0), (2, 0)),
        (Delay(delay_ms=0), (2, 0)),
    ],
    ids=["met", "never met", "probability 0", "no delay"],
)
async def test_requests_that_match_are_counted_beside_those_that_were_touched(
    fault: AnyFault, counts: tuple[int, int], http: HttpLink
) -> None:
    active = http.proxy.apply(fault)
    async with await Peer.connect(http.proxy.address) as client:
        for _ in range(2):
            await client.ask(GET)
    told = http.proxy.tell(active)

    assert (told["arrived"], told["touched"]) == counts


async def test_a_fault_of_requests_touches_nothing_where_nobody_speaks_http(echoing: Proxy) -> None:
    active = echoing.apply(Status())
    async with await Peer.connect(echoing.address) as client:
        ping = b"*1\r\n$4\r\nPING\r\n"  # as Redis has it
        await client.send(ping)
        assert await client.receive(len(ping)) == ping
        told = echoing.tell(active)

    assert (told["arrived"], told["touched"]) == (0, 0)


async def test_nobody_can_count_those_who_are_refused(echoing: Proxy) -> None:
    told = echoing.tell(echoing.apply(Refuse()))

    assert (told["arrived"], told["touched"]) == (None, None)
