"""Where requests go and when a connection is used again: TLS, IPv6, unix sockets, reuse, limits."""

import asyncio
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from loadgen import (
    Closed,
    JsonFieldRule,
    Load,
    Open,
    Request,
    Samples,
    Stage,
    StatusRule,
    TimeOuts,
    run_load,
)
from tests.loadgen import zoo
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.loadgen.zoo import FRESH, GOOD, OK, Guest, Talk, badly_behaved, says

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
GOOD_TALK = says(GOOD)
RACE = "closed before a reply, on a reused connection"


def closed(*urls: str, requests: int = 4, tasks: int = 2, **settings: object) -> Load:
    return Load(
        requests=tuple(Request(url=url) for url in urls),
        shape=Closed(requests=requests, tasks=tasks),
        outcome=RULE,
        **settings,  # type: ignore[arg-type] # fields of Load
    )


def now_and_then(url: str) -> Load:
    """Five requests, a tenth of a second apart."""
    shape = Open(stages=(Stage(duration_s=0.5, rate_per_s=10),))
    return Load(requests=(Request(url=url),), shape=shape, outcome=RULE)


async def test_a_unix_socket_is_a_host(tmp_path: Path) -> None:
    async with badly_behaved(says(GOOD), path=tmp_path / "service.sock") as url:
        samples = await run_load(closed(url))

    assert samples.outcome == ["fresh"] * 4


async def test_an_address_of_ipv6_is_a_host() -> None:
    async with badly_behaved(says(GOOD), host="::1") as url:
        samples = await run_load(closed(url))

    assert samples.outcome == ["fresh"] * 4


async def test_a_name_goes_to_whichever_of_its_addresses_answers() -> None:
    """On most systems localhost is ::1 and 127.0.0.1, and the server listens on the latter."""
    async with badly_behaved(says(GOOD)) as url:
        samples = await run_load(closed(url.replace("127.0.0.1", "localhost")))

    assert samples.outcome == ["fresh"] * 4


async def test_a_name_without_an_address_is_an_error_of_every_request() -> None:
    samples = await run_load(closed("http://no-such-host.invalid/"))

    assert [error.split(":")[0] for error in samples.error] == ["cannot connect"] * 4


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1 in one file."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    key, own = path.with_name("key.pem"), path.with_name("cert.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *(
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=test",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ),
            *("-keyout", key, "-out", own),
        ],
        check=True,
        capture_output=True,
    )
    path.write_bytes(key.read_bytes() + own.read_bytes())
    return path


async def send_by_tls(
    certificate: Path, *, verify: bool = False, talk: Talk = GOOD_TALK
) -> Samples:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with badly_behaved(talk, tls=context) as url:
        return await run_load(closed(url, verify_tls=verify))


async def test_tls_checks_the_certificate_unless_told_not_to(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = await send_by_tls(certificate, verify=True)
    unchecked = await send_by_tls(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted = await send_by_tls(certificate, verify=True)

    assert set(stranger.error) == {"cannot connect: TLS: self-signed certificate"}
    assert stranger.sent_s == [None] * 4
    assert unchecked.outcome == trusted.outcome == ["fresh"] * 4


@pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop])
@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (says(OK + b"\r\n" + FRESH, closes=True), "fresh"),
        (says(OK + b"\r\n" + b" " * 2**21 + FRESH, closes=True), "fresh"),
        (zoo.closes_tcp_alone, "reply cut short"),
        (zoo.resets_where_only_an_end_would_end_the_body, "reply cut short"),
    ],
    ids=["closed by TLS", "long, closed by TLS", "closed by TCP alone", "reset"],
)
def test_by_tls_only_its_own_end_ends_a_body_that_has_no_length(
    talk: Talk,
    expected: str,
    loop: Callable[[], asyncio.AbstractEventLoop],
    certificate: Path,
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        samples = runner.run(asyncio.wait_for(send_by_tls(certificate, talk=talk), 10))

    assert [
        error or outcome for error, outcome in zip(samples.error, samples.outcome, strict=True)
    ] == [expected] * 4


async def test_a_server_that_speaks_no_tls_is_an_error() -> None:
    async with badly_behaved(zoo.closes_at_once) as url:
        samples = await run_load(closed(url.replace("http:", "https:")))

    assert all(error.startswith("cannot connect: ") for error in samples.error)


async def test_time_outs_are_told_apart() -> None:
    limits = TimeOuts(connect_s=0.1, first_byte_s=0.2, whole_s=0.4)
    async with badly_behaved(zoo.never_answers) as silent:
        waiting = await run_load(closed(silent, time_outs=limits))
        by_tls = await run_load(closed(silent.replace("http:", "https:"), time_outs=limits))
    async with badly_behaved(says(GOOD[:-3])) as slow:
        half = await run_load(closed(slow, time_outs=limits))

    assert set(waiting.error) == {"no first byte in 0.2 s"}
    assert set(by_tls.error) == {"no connection in 0.1 s"}
    assert set(half.error) == {"no complete reply in 0.4 s"}
    assert set(half.status) == {200}
    assert all(0.4 <= latency < 2 for latency in half.latencies_s())


async def test_a_connection_that_the_server_closes_while_idle_is_only_a_reconnect() -> None:
    connections: set[int] = set()

    async def closes_when_idle(guest: Guest) -> None:
        connections.add(guest.number)
        await zoo.closes_late(guest)

    async with badly_behaved(closes_when_idle) as url:
        samples = await run_load(now_and_then(url))

    assert samples.outcome == ["fresh"] * 5
    assert len(connections) == 5


async def test_a_request_lost_to_the_closing_race_is_an_error_of_its_own_and_sent_once() -> None:
    seen: list[int] = []

    async def closes_on_the_second(guest: Guest) -> None:
        for _ in range(2):
            await guest.request()
            seen.append(guest.number)
            if seen.count(guest.number) == 1:
                await guest.say(GOOD)

    async with badly_behaved(closes_on_the_second) as url:
        samples = await run_load(closed(url, requests=8, tasks=1))

    assert len(seen) == 8
    assert samples.error == ["", RACE] * 4


async def test_a_reply_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    """An idle connection on which bytes arrive is dropped, and the next request has its own."""
    stale = GOOD.replace(b"fresh", b"stale")

    async def says_too_much(guest: Guest) -> None:
        await guest.request()
        await guest.say(GOOD, stale, gap_s=0.02)
        await says(GOOD)(guest)

    async with badly_behaved(says_too_much) as url:
        samples = await run_load(now_and_then(url))

    assert samples.outcome == ["fresh"] * 5
    assert samples.report is not None
    assert samples.report.connections == 5


async def test_without_keep_alive_each_request_has_a_connection_of_its_own() -> None:
    async with scripted_server(lambda _: json_reply('{"source": "fresh"}')) as server:
        samples = await run_load(closed(server.url, requests=6, keep_alive=False))

        assert server.connections == 6
        assert all(b"\r\nConnection: close\r\n" in head for head in server.requests)
    assert samples.outcome == ["fresh"] * 6


async def test_a_head_has_no_body_whatever_its_length_says() -> None:
    reply = OK + b"Content-Length: 1000\r\n\r\n"
    async with badly_behaved(says(reply)) as url:
        load = Load(
            requests=(Request(url=url, method="HEAD"),),
            shape=Closed(requests=5, tasks=1),
            outcome=StatusRule(statuses={"2xx": "ok"}),
        )
        samples = await run_load(load)

        assert samples.report is not None
    assert samples.outcome == ["ok"] * 5
    assert samples.report.connections == 1


async def test_weighted_requests_to_several_hosts_share_the_tasks() -> None:
    fresh, stale = json_reply('{"source": "fresh"}'), json_reply('{"source": "stale"}')
    async with scripted_server(lambda _: fresh) as one, scripted_server(lambda _: stale) as other:
        load = Load(
            requests=(Request(url=one.url, weight=3), Request(url=other.url, weight=1)),
            shape=Closed(requests=40, tasks=3),
            outcome=JsonFieldRule(json_field="source", classes=("fresh", "stale")),
        )
        samples = await run_load(load)

        assert (len(one.requests), len(other.requests)) == (30, 10)
        assert one.connections + other.connections <= 40
    assert [("fresh", "stale").index(name) for name in samples.outcome] == samples.request


async def test_replies_of_changing_heads_and_bodies_are_each_judged_by_their_own() -> None:
    def reply(number: int) -> bytes:
        source = ("fresh", "stale")[number % 2]
        body = b'{"source": "%b", "n": %d}' % (source.encode(), 10**number)
        return OK + b"X-N: %d\r\nContent-Length: %d\r\n\r\n" % (number % 3, len(body)) + body

    async with scripted_server(reply) as server:
        load = Load(
            requests=(Request(url=server.url),),
            shape=Closed(requests=60, tasks=1),
            outcome=JsonFieldRule(json_field="source", classes=("fresh", "stale")),
        )
        samples = await run_load(load)

    assert samples.outcome == ["fresh", "stale"] * 30


async def test_heads_of_one_length_are_told_apart_whatever_their_order() -> None:
    good, bad = json_reply('{"source": "fresh"}'), json_reply('{"source": "fresh"}', "500 No")
    assert len(good) == len(bad)
    async with scripted_server(lambda number: bad if number in {2, 3, 5, 8} else good) as server:
        samples = await run_load(closed(server.url, requests=10, tasks=1))

    assert [n for n, status in enumerate(samples.status) if status == 500] == [2, 3, 5, 8]
    assert samples.outcome.count("fresh") == 6


async def test_the_bytes_of_a_request_are_its_method_target_headers_and_body() -> None:
    async with scripted_server(lambda _: GOOD) as server:
        request = Request(
            url=server.url + "a b?q=ї#part",
            method="POST",
            headers={"X-A": "1", "user-agent": "mine"},
            body="x",
        )
        load = Load(requests=(request,), shape=Closed(requests=1, tasks=1), outcome=RULE)
        await run_load(load)

        lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "POST /a%20b?q=%D1%97 HTTP/1.1"
    assert {"X-A: 1", "user-agent: mine", "Content-Length: 1", "Accept: */*"} <= set(lines)
    assert lines[1] == f"Host: {server.url.removeprefix('http://').rstrip('/')}"
