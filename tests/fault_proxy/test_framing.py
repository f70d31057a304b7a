import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_proxy.http11.framing import Body, Framer, NotHttpError, Open
from fault_proxy.http11.heads import (
    may_be_reply,
    may_be_request,
    read_reply_head,
    read_request_head,
)

REQUESTS = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n\r\n\r\nabc",
    b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\n\r\n\r\n0\r\n0\r\nX: y\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
)


def request_framer() -> Framer:
    return Framer(lambda head: read_request_head(head).body, may_be_request)


def messages(framer: Framer, pieces: list[bytes]) -> list[bytes]:
    """Return the messages of a stream that arrives in *pieces*; the last may not be whole."""
    found = [b""]
    for piece in pieces:
        for part in framer.parts(piece):
            found[-1] += part.data
            if part.is_last:
                found.append(b"")
    found[-1] += framer.partial
    return found


@given(order=st.lists(st.sampled_from(REQUESTS), max_size=8), seed=st.integers())
def test_messages_are_found_however_the_stream_is_cut(order: list[bytes], seed: int) -> None:
    stream, chance, pieces = b"".join(order), random.Random(seed), []
    while stream:
        size = chance.choice((1, 2, 7, 40, 500))
        pieces.append(stream[:size])
        stream = stream[size:]

    assert messages(request_framer(), pieces) == [*order, b""]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n", 12),
        (b"POST / HTTP/1.0\r\ncontent-length:  12\r\n\r\n", 12),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n", Open.CHUNKED),
        (b"GET / HTTP/1.1\r\n\r\n", 0),
    ],
)
def test_the_body_of_a_request(head: bytes, body: Body) -> None:
    assert read_request_head(head).body == body


@pytest.mark.parametrize(
    ("status", "method", "headers", "body"),
    [
        (200, "GET", b"Content-Length: 12", 12),
        (200, "HEAD", b"Content-Length: 12", 0),
        (204, "GET", b"Content-Length: 12", 0),
        (304, "GET", b"Content-Length: 12", 0),
        (103, "GET", b"Link: </a>", 0),
        (200, "GET", b"Transfer-Encoding: chunked", Open.CHUNKED),
        (200, "GET", b"Transfer-Encoding: gzip", Open.UNTIL_CLOSE),
        (200, "GET", b"Server: a", Open.UNTIL_CLOSE),
    ],
)
def test_the_body_of_a_reply(status: int, method: str, headers: bytes, body: Body) -> None:
    assert read_reply_head(b"HTTP/1.1 %d x\r\n%s\r\n\r\n" % (status, headers), method).body == body


@pytest.mark.parametrize(
    ("head", "path"),
    [
        (b"GET /a?b HTTP/1.1\r\n\r\n", "/a?b"),
        (b"GET http://host:80/a HTTP/1.1\r\n\r\n", "/a"),
        (b"GET http://host HTTP/1.1\r\n\r\n", "/"),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", "*"),
    ],
)
def test_the_path_of_a_request(head: bytes, path: str) -> None:
    assert read_request_head(head).path == path


@pytest.mark.parametrize(
    ("headers", "version", "is_kept_alive"),
    [
        (b"Host: a", b"1.1", True),
        (b"Connection: Close", b"1.1", False),
        (b"Connection: x, close", b"1.1", False),
        (b"Host: a", b"1.0", False),
        (b"Connection: keep-alive", b"1.0", True),
    ],
)
def test_whether_a_request_keeps_its_connection(
    headers: bytes, version: bytes, is_kept_alive: bool
) -> None:
    head = b"GET / HTTP/%s\r\n%s\r\n\r\n" % (version, headers)

    assert read_request_head(head).is_kept_alive is is_kept_alive


@pytest.mark.parametrize(
    "stream",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / RTSP/1.0\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"GET /" + b"a" * 70_000,
        b"\x16\x03\x01",
        b"\r\n",
    ],
)
def test_what_is_no_http_is_told_with_all_its_bytes(stream: bytes) -> None:
    framer, before = request_framer(), REQUESTS[0]
    with pytest.raises(NotHttpError) as caught:
        messages(framer, [before, stream])

    assert caught.value.rest == stream


@pytest.mark.parametrize(
    "head", [b"GET /a HTTP/1.1\r\nHost: a", b"HTTP/1.1 200 OK\r\nServer: a", b"HTTP/1.0 404\r\n"]
)
def test_every_beginning_of_a_head_may_be_one(head: bytes) -> None:
    may_be = may_be_reply if head.startswith(b"HTTP") else may_be_request

    assert all(may_be(head[:size]) for size in range(1, len(head)))
