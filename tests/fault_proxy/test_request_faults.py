import asyncio
import json
import socket
import time

import pytest

from fault_proxy import Delay, Drip, FailFirst, Match, Status, Truncate
from fault_proxy.faults.documents import AnyRequestFault
from tests.fault_proxy.conftest import HttpLink, Pair
from tests.fault_proxy.peers import HttpService, Peer

GET = b"GET /rates/USD HTTP/1.1\r\nHost: rates\r\n\r\n"
POST = b"POST /rates HTTP/1.1\r\nHost: rates\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"POST /a HTTP/1.1\r\nHost: rates\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
)
UPGRADE = b"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"


def marks(reply: bytes) -> list[bytes]:
    head = reply.partition(b"\r\n\r\n")[0]
    return [line[9:] for line in head.split(b"\r\n") if line.startswith(b"X-Chaos: ")]


def status(reply: bytes) -> int:
    return int(reply.split(b" ")[1])


async def test_a_status_answers_in_place_of_upstream_and_ends(http: HttpLink) -> None:
    async with await Peer.connect(http.proxy.address) as client:
        assert await client.ask(GET) == HttpService.REPLY
        fault = http.proxy.apply(Status(status=503, retry_after_s=2))
        reply = await client.ask(GET)
        assert status(reply) == 503
        assert marks(reply) == [b"status"]
        assert b"\r\nRetry-After: 2\r\n" in reply
        assert b"\r\nContent-Type: application/problem+json\r\n" in reply
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["status"] == 503
        assert len(http.service.seen) == 1

        http.proxy.end(fault.id)
        assert await client.ask(GET) == HttpService.REPLY


@pytest.mark.parametrize(
    ("number", "phrase"), [(422, "Unprocessable Content"), (503, "Service Unavailable")]
)
async def test_a_status_comes_with_its_name_in_rfc_9110(
    number: int, phrase: str, http: HttpLink
) -> None:
    http.proxy.apply(Status(status=number))
    async with await Peer.connect(http.proxy.address) as client:
        reply = await client.ask(GET)
    assert reply.startswith(f"HTTP/1.1 {number} {phrase}\r\n".encode())
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["title"] == phrase


@pytest.mark.parametrize("request_", [POST, CHUNKED], ids=["length", "chunked"])
async def test_the_body_of_a_failed_request_stays_away_from_upstream(
    request_: bytes, http: HttpLink
) -> None:
    http.proxy.apply(Status(match=Match(method="POST")))
    async with await Peer.connect(http.proxy.address) as client:
        for byte in request_:
            await client.send(bytes([byte]))
        assert status(await client.message()) == 500
        assert await client.ask(GET) == HttpService.REPLY

        assert http.service.seen == [GET]


async def test_pipelined_replies_keep_their_order(http: HttpLink) -> None:
    http.proxy.apply(Status(match=Match(path="/bad")))
    bad = GET.replace(b"/rates/USD", b"/bad/one")
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET + bad + bad + GET + bad)
        statuses = [status(await client.message()) for _ in range(5)]

    assert statuses == [200, 500, 500, 200, 500]
    assert http.service.seen == [GET, GET]


async def test_fail_first_fails_so_many_requests_and_no_more(http: HttpLink) -> None:
    active = http.proxy.apply(FailFirst(requests=2, status=429))
    async with await Peer.connect(http.proxy.address) as client:
        replies = [await client.ask(GET) for _ in range(4)]

    assert [status(reply) for reply in replies] == [429, 429, 200, 200]
    assert [marks(reply) for reply in replies] == [[b"failFirst"], [b"failFirst"], [], []]
    assert active.touched == 2


async def test_a_delay_comes_before_the_head_and_ends(http: HttpLink) -> None:
    fault = http.proxy.apply(Delay(delay_ms=100))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        assert await client.receives_nothing(0.05)
        reply = await client.message()
        assert marks(reply) == [b"delay"]
        assert reply.replace(b"X-Chaos: delay\r\n", b"") == HttpService.REPLY

        http.proxy.end(fault.id)
        assert await client.ask(GET) == HttpService.REPLY


async def test_a_delayed_reply_goes_on_when_the_fault_ends(http: HttpLink) -> None:
    fault = http.proxy.apply(Delay(delay_ms=60_000))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        assert await client.receives_nothing(0.05)

        http.proxy.end(fault.id)
        assert status(await client.message()) == 200


async def test_a_drip_sends_the_body_in_pieces_and_ends(http: HttpLink) -> None:
    fault = http.proxy.apply(Drip(piece_bytes=10, every_ms=30))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        head_size = len(HttpService.REPLY) - len(HttpService.BODY) + len(b"X-Chaos: drip\r\n")
        assert marks(await client.receive(head_size)) == [b"drip"]
        started_s = time.perf_counter()
        assert await client.receive(len(HttpService.BODY)) == HttpService.BODY
        assert time.perf_counter() - started_s >= 0.06

        http.proxy.end(fault.id)
        assert await client.ask(GET) == HttpService.REPLY


async def test_a_drip_stops_where_the_fault_ends(http: HttpLink) -> None:
    fault = http.proxy.apply(Drip(piece_bytes=1, every_ms=60_000))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        await client.receive(len(HttpService.REPLY) - len(HttpService.BODY) + 15)
        http.proxy.end(fault.id)

        assert (await client.receive(len(HttpService.BODY) - 1))[-1:] == b"1"


@pytest.mark.parametrize("keep_bytes", [0, 5, 10_000])
async def test_a_truncated_reply_closes_the_connection_before_its_end(
    keep_bytes: int, http: HttpLink
) -> None:
    fault = http.proxy.apply(Truncate(keep_bytes=keep_bytes))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        reply = await client.receive_all()
    kept = min(keep_bytes, len(HttpService.BODY) - 1)
    assert marks(reply) == [b"truncate"]
    assert reply.partition(b"\r\n\r\n")[2] == HttpService.BODY[:kept]

    http.proxy.end(fault.id)
    async with await Peer.connect(http.proxy.address) as client:
        assert await client.ask(GET) == HttpService.REPLY


@pytest.mark.parametrize("fault", [Drip(), Truncate()], ids=["drip", "truncate"])
async def test_a_reply_without_a_body_is_neither_touched_nor_marked(
    fault: AnyRequestFault, http: HttpLink
) -> None:
    http.service.reply = b"HTTP/1.1 204 No Content\r\nDate: today\r\n\r\n"
    active = http.proxy.apply(fault)
    async with await Peer.connect(http.proxy.address) as client:
        assert await client.ask(GET) == http.service.reply

    assert active.touched == http.proxy.counts().hit_requests == 0


async def test_the_reply_to_a_head_has_no_body_in_either_case(http: HttpLink) -> None:
    http.service.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    head = GET.replace(b"GET", b"HEAD")
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(head)
        assert await client.receive(len(http.service.reply)) == http.service.reply
        fault = http.proxy.apply(Status())
        await client.send(head)
        failed = await client.receive(24)
        assert failed == b"HTTP/1.1 500 Internal Se"
        while not failed.endswith(b"\r\n\r\n"):
            failed += await client.receive(1)
        http.proxy.end(fault.id)
        await client.send(head)

        assert await client.receive(len(http.service.reply)) == http.service.reply


async def test_only_requests_that_match_are_touched(http: HttpLink) -> None:
    http.proxy.apply(Status(match=Match(method="GET", path="/rates/")))
    async with await Peer.connect(http.proxy.address) as client:
        replies = [
            await client.ask(GET),
            await client.ask(POST),
            await client.ask(GET.replace(b"/rates/USD", b"/health")),
        ]

    assert [status(reply) for reply in replies] == [500, 200, 200]
    assert replies[1:] == [HttpService.REPLY] * 2


async def test_the_rate_is_rolled_once_a_request_and_seeded(http: HttpLink) -> None:
    async def fates(seed: int) -> list[bytes]:
        fault = http.proxy.apply(Status(probability=0.5, seed=seed))
        async with await Peer.connect(http.proxy.address) as client:
            replies = [await client.ask(GET) for _ in range(30)]
        http.proxy.end(fault.id)
        return replies

    first = await fates(seed=3)

    assert 6 < sum(status(reply) == 500 for reply in first) < 24
    assert {reply for reply in first if not marks(reply)} == {HttpService.REPLY}
    assert await fates(seed=3) == first
    assert await fates(seed=4) != first


@pytest.mark.parametrize(
    "fault",
    [
        Status(probability=0),
        Delay(delay_ms=10_000, probability=0),
        Delay(delay_ms=0),
        Drip(probability=0),
        Truncate(probability=0),
    ],
    ids=lambda fault: fault.kind,
)
async def test_rate_0_has_no_effect(fault: AnyRequestFault, http: HttpLink) -> None:
    http.proxy.apply(fault)
    async with await Peer.connect(http.proxy.address) as client:
        replies = [await client.ask(request) for request in (GET, POST, GET)]

    assert replies == [HttpService.REPLY] * 3
    assert http.service.seen == [GET, POST, GET]


async def test_faults_combine_and_the_mark_names_each(http: HttpLink) -> None:
    http.proxy.apply(Delay(delay_ms=50, name="slow.rates"))
    late_failure = http.proxy.apply(Status(status=502))
    async with await Peer.connect(http.proxy.address) as client:
        started_s = time.perf_counter()
        reply = await client.ask(GET)
        assert time.perf_counter() - started_s >= 0.05
        assert (status(reply), marks(reply)) == (502, [b"slow.rates, status"])

        http.proxy.end(late_failure.id)
        assert marks(await client.ask(GET)) == [b"slow.rates"]


async def test_a_request_that_is_partly_passed_is_not_hit_but_the_next_is(http: HttpLink) -> None:
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET[:20])
        await asyncio.sleep(0.05)
        http.proxy.apply(Status())

        assert await client.ask(GET[20:]) == HttpService.REPLY
        assert status(await client.ask(GET)) == 500


async def test_a_head_that_is_held_goes_on_when_the_fault_ends(pair: Pair) -> None:
    fault = pair.proxy.apply(Status())
    await pair.client.send(b"GET / HTT")
    assert await pair.server.receives_nothing(0.05)

    pair.proxy.end(fault.id)
    assert await pair.server.receive(9) == b"GET / HTT"


async def test_a_request_that_asks_to_close_is_answered_and_closed(http: HttpLink) -> None:
    http.proxy.apply(Status())
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET.replace(b"Host", b"Connection: close\r\nHost"))
        reply = await client.receive_all()

    assert status(reply) == 500
    assert b"\r\nConnection: close\r\n" in reply


async def test_interim_replies_pass_untouched_before_the_marked_one(http: HttpLink) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    http.service.reply = interim + HttpService.REPLY
    http.proxy.apply(Delay(delay_ms=20))
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        assert await client.receive(len(interim)) == interim
        assert marks(await client.message()) == [b"delay"]


async def test_a_chunked_reply_is_followed_to_its_end(http: HttpLink) -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\n0A\r\n\r\n\r\n012345\r\n0\r\nTrailer: x\r\n\r\n"
    )
    http.service.reply = chunked
    async with await Peer.connect(http.proxy.address) as client:
        await client.send(GET)
        assert await client.receive(len(chunked)) == chunked
        http.proxy.apply(Status())

        assert status(await client.ask(GET)) == 500


async def test_after_an_upgrade_the_connection_is_raw(pair: Pair) -> None:
    await pair.client.send(UPGRADE)
    assert await pair.server.receive(len(UPGRADE)) == UPGRADE
    await pair.server.send(SWITCHED + b"frame")
    assert await pair.client.receive(len(SWITCHED) + 5) == SWITCHED + b"frame"
    pair.proxy.apply(Status())
    await pair.client.send(GET)

    assert await pair.server.receive(len(GET)) == GET


async def test_after_a_refused_upgrade_requests_go_on(http: HttpLink) -> None:
    async with await Peer.connect(http.proxy.address) as client:
        assert await client.ask(UPGRADE) == HttpService.REPLY
        http.proxy.apply(Status())

        assert status(await client.ask(GET)) == 500


@pytest.mark.parametrize(
    "greeting",
    [
        b"*1\r\n$4\r\nPING\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"QUIT\r\n",
    ],
    ids=["redis", "http2", "tls", "line"],
)
async def test_what_is_no_http_passes_raw_under_request_faults(greeting: bytes, pair: Pair) -> None:
    pair.proxy.apply(Status())
    await pair.client.send(greeting)

    assert await pair.server.receive(len(greeting)) == greeting


async def test_a_server_that_speaks_first_is_no_http(pair: Pair) -> None:
    pair.proxy.apply(Status())
    await pair.server.send(b"220 smtp ready\r\n")
    assert await pair.client.receive(16) == b"220 smtp ready\r\n"
    await pair.client.send(GET)

    assert await pair.server.receive(len(GET)) == GET


async def test_a_client_that_reads_no_answers_is_read_no_further(http: HttpLink) -> None:
    http.proxy.apply(Status())
    async with await Peer.connect(http.proxy.address) as client:
        client.raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sending = asyncio.create_task(client.send(GET * 1_000_000))
        requests = 0
        for _ in range(100):
            before, requests = requests, http.proxy.counts().requests
            if 0 < before == requests:
                break
            await asyncio.sleep(0.1)
        assert 0 < requests < 1_000_000

        sending.cancel()
        await asyncio.wait({sending})
