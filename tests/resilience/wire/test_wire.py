"""What lies between a client and its sources: names, certificates, proxies, odd replies."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import httpx
import pytest

from resilience import (
    BreakerSettings,
    CallStarted,
    Fallback,
    Policies,
    ResilientClient,
    RetrySettings,
    Source,
    UndecodableBody,
)
from resilience.wire.connections import Connections, context_for
from resilience.wire.name_lookup import OwnThreadResolver
from tests.resilience.peers import read_request, scripted_peer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
AT_ONCE = RetrySettings(max_retries=2, base_delay_s=0)
TWICE = BreakerSettings(failure_ratio=None, consecutive_failures=2)


def client_of(url: str, policies: Policies | None = None, **settings: object) -> ResilientClient:
    source = Source(name="s", base_url=url, policies=policies)
    return ResilientClient([source], random=Random(1), **settings)  # type: ignore[arg-type]


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


@pytest.fixture
def hanging_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Names that end in .hangs are looked up until the event is set."""
    released = threading.Event()
    ask = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: object, **more: object) -> object:
        if host.endswith(".hangs"):
            released.wait(10)
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return ask(host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield released
    released.set()


async def test_sources_whose_names_hang_leave_others_alone(
    hanging_names: threading.Event,
) -> None:
    sick = [Source(name=f"sick{n}", base_url=f"http://a{n}.hangs") for n in range(40)]
    async with scripted_peer(_answer_once) as url:
        well = Source(name="well", base_url=url.replace("127.0.0.1", "localhost"))
        async with ResilientClient([*sick, well], random=Random(1)) as client:
            hung = [asyncio.ensure_future(client.get(each.name, "/")) for each in sick]
            await asyncio.sleep(0.1)
            async with asyncio.timeout(5):
                assert (await client.get("well", "/")).text == "ok"
            hanging_names.set()
            ended = await asyncio.gather(*hung, return_exceptions=True)
    assert {type(error) for error in ended} == {httpx.ConnectError}


async def test_an_unknown_name_is_a_failure_to_connect() -> None:
    async with client_of("http://no-such-host.invalid") as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("s", "/")


async def test_a_name_has_numeric_addresses() -> None:
    resolver = OwnThreadResolver()
    found = await resolver.resolve("localhost", 80, socket.AF_INET)
    await resolver.close()
    assert [(each["host"], each["port"], each["hostname"]) for each in found] == [
        ("127.0.0.1", 80, "localhost")
    ]


async def _answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(OK)
    await writer.drain()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody else trusts, and its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, signed, both = folder / "key.pem", folder / "signed.pem", folder / "both.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", signed),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    both.write_text(key.read_text(encoding="ascii") + signed.read_text(encoding="ascii"))
    return both


@pytest.mark.parametrize("told_by", ["ssl_context", "SSL_CERT_FILE", "nobody"])
async def test_a_certificate_is_trusted_by_context_or_environment(
    certificate: Path, told_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    server = await asyncio.start_server(_answer_once, "127.0.0.1", 0, ssl=serving)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    context = ssl.create_default_context(cafile=certificate) if told_by == "ssl_context" else None
    if told_by == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", os.fspath(certificate))
    async with server, client_of(url, ssl_context=context) as client:
        if told_by == "nobody":
            with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
                await client.get("s", "/")
        else:
            assert (await client.get("s", "/")).text == "ok"


@pytest.mark.parametrize("https", ["https://a", "HTTPS://a"])
def test_one_context_trusts_the_usual_authorities_if_any_url_is_https(https: str) -> None:
    made = context_for(["http://b", https], None)
    assert made.cert_store_stats()["x509_ca"] > 0
    assert context_for(["http://b", https], made) is made
    assert context_for(["http://b"], None).cert_store_stats()["x509"] == 0


async def test_a_proxy_with_tls_is_trusted_by_the_environment_though_no_source_has_tls(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    server = await asyncio.start_server(_answer_once, "127.0.0.1", 0, ssl=serving)
    proxy = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    monkeypatch.setenv("SSL_CERT_FILE", os.fspath(certificate))
    async with server, client_of("http://api.example.test", proxy=proxy) as client:
        assert (await client.get("s", "/rates")).text == "ok"


async def test_a_proxy_gets_every_request_with_the_credentials() -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_request(reader):
            heads.append(head)
            writer.write(OK)
            await writer.drain()

    async with scripted_peer(behave) as url:
        proxy = url.replace("http://", "http://me:secret@")
        async with client_of("http://api.example.test", proxy=proxy) as client:
            for _ in range(2):
                assert (await client.get("s", "/rates")).text == "ok"
    assert len(heads) == 2
    for head in heads:
        assert head.startswith(b"GET http://api.example.test/rates HTTP/1.1")
        assert b"proxy-authorization: basic bwu6c2vjcmv0" in head.lower()


async def test_the_credentials_of_a_proxy_are_seen_by_the_proxy_alone() -> None:
    heads: list[bytes] = []
    seen: list[httpx.Request | None] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    def answer(request: httpx.Request, failure: Exception | httpx.Response) -> httpx.Response:
        assert isinstance(failure, httpx.Response)
        seen.extend((request, failure.request))
        return httpx.Response(203)

    async with scripted_peer(refuse) as url:
        proxy = url.replace("http://", "http://me:secret@")
        policies = Policies(fallback=Fallback(answer=answer))
        async with client_of("http://api.example.test", policies, proxy=proxy) as client:
            client.subscribe(lambda event: seen.append(event.request), [CallStarted])
            seen.append((await client.post("s", "/", json=[1])).request)
    assert b"proxy-authorization" in heads[0].lower()
    assert b"content-length: 3" in heads[0].lower()
    assert len(seen) == 4
    shared, *others = seen
    assert shared is not None
    assert all(each is shared for each in others)
    assert "proxy-authorization" not in shared.headers


async def test_a_proxy_is_asked_for_a_tunnel_to_a_source_with_tls() -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with scripted_peer(behave) as url:
        proxy = url.replace("http://", "http://me:secret@")
        async with client_of("https://api.example.test", proxy=proxy) as client:
            with pytest.raises(httpx.ProxyError):
                await client.get("s", "/rates")
    assert heads[0].startswith(b"CONNECT api.example.test:443 HTTP/1.1")
    assert b"proxy-authorization: basic bwu6c2vjcmv0" in heads[0].lower()


async def test_a_proxy_that_is_down_or_refuses_is_a_transient_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with client_of("http://api.example.test", proxy=f"http://127.0.0.1:{port}") as client:
        with pytest.raises(httpx.ProxyError):
            await client.get("s", "/")


@pytest.mark.parametrize("proxy", ["socks5://h:1", "h:1", "http://", "http://joe:pw@[::1", ""])
def test_what_is_no_proxy_is_refused_without_telling_its_password(proxy: str) -> None:
    with pytest.raises(ValueError, match=r"^proxy .*write it like http") as raised:
        Connections(proxy=proxy)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize("wrong", [{"proxy": 5}, {"ssl_context": True}])
def test_wire_settings_of_a_wrong_kind_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(wrong))} has the wrong type"):
        Connections(**wrong)  # type: ignore[arg-type]


async def test_default_policies_are_those_of_sources_without_any() -> None:
    own = Source(name="own", base_url="http://a", policies=Policies())
    none = Source(name="none", base_url="http://a")
    async with ResilientClient(
        [own, none],
        random=Random(1),
        default_policies=Policies(retry=AT_ONCE),
        transport=httpx.MockTransport(lambda _: httpx.Response(503)),
    ) as client:
        for name in client.sources:
            await client.get(name, "/")
    attempts = {name: client.statistics(name).attempts for name in client.sources}
    assert attempts == {"own": 1, "none": 3}


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


async def test_a_proxy_that_was_not_reached_leaves_any_request_to_be_repeated() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url, proxy = "http://api.example.test", f"http://127.0.0.1:{port}"
    async with client_of(url, Policies(retry=AT_ONCE), proxy=proxy) as client:
        with pytest.raises(httpx.ProxyError):
            await client.post("s", "/")
    assert client.statistics("s").attempts == 3


async def test_a_fallbacks_answer_says_how_long_it_took() -> None:
    policies = Policies(fallback=Fallback(answer=lambda _request, _failure: httpx.Response(203)))
    async with client_of("http://127.0.0.1:9", policies) as client:
        assert (await client.get("s", "/")).elapsed.total_seconds() >= 0


def test_a_look_up_that_hangs_keeps_no_process_from_its_end() -> None:
    program = """
import asyncio, socket, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait(60)
from random import Random
from resilience import AttemptTimeout, Policies, ResilientClient, Source

async def main():
    policies = Policies(attempt_timeout_s=0.05)
    source = Source(name="s", base_url="http://a.hangs", policies=policies)
    async with ResilientClient([source], random=Random()) as client:
        try:
            await client.get("s", "/")
        except AttemptTimeout:
            print("timed out")

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("timed out\n", "", 0)


def test_settings_of_connections_do_not_show_the_password_of_a_proxy() -> None:
    assert "secret" not in repr(Connections(proxy="http://me:secret@proxy.example:3128"))


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
