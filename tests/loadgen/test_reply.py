"""A reply is the same however the network cuts it up."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.reply import ReplyError, ReplyReader, keeps_alive
from tests.loadgen.zoo import FRESH, GOOD, OK, chunked

REPLIES = {
    "by length": GOOD,
    "in chunks": chunked(FRESH[:3], FRESH[3:], end=b"0\r\nX-Sum: 1\r\n\r\n"),
    "after interim ones": b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go\r\n\r\n" + GOOD,
    "to the end": OK + b"\r\n" + FRESH,
}


@pytest.mark.parametrize("name", REPLIES)
@given(data=st.data())
def test_a_reply_is_the_same_in_any_pieces(name: str, data: st.DataObject) -> None:
    reply = REPLIES[name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(reply) - 1), max_size=8)))
    reader = ReplyReader(keeps_bodies=True)
    for start, end in zip([0, *cuts], [*cuts, len(reply)], strict=True):
        assert not reader.is_complete
        reader.feed(reply[start:end])
    reader.end()

    assert (reader.status, reader.body, reader.is_complete) == (200, FRESH, True)
    assert reader.is_reusable == (name != "to the end")


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=8))
def test_any_bytes_are_a_reply_or_a_reply_error(parts: list[bytes]) -> None:
    for head in (b"HTTP", OK, OK + b"Transfer-Encoding: chunked\r\n\r\n"):
        reader = ReplyReader(keeps_bodies=True)
        with suppress(ReplyError):
            for part in (head, *parts):
                reader.feed(part)
            reader.end()

        assert reader.body_bytes <= len(head) + sum(map(len, parts))


def test_one_reader_reads_one_reply_after_another() -> None:
    reader = ReplyReader(keeps_bodies=True)
    for is_head, reply, body in [
        (True, OK + b"Content-Length: 9\r\n\r\n", b""),
        (False, GOOD, FRESH),
        (False, b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", b""),
        (False, chunked(FRESH), FRESH),
    ]:
        reader.begin(is_head=is_head)
        reader.feed(reply)

        assert (reader.is_complete, reader.is_reusable, reader.body) == (True, True, body)


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        ("1.1", b"", True),
        ("1.1", b"Upgrade, Close", False),
        ("1.0", b"", False),
        ("1.0", b"Keep-Alive", True),
    ],
)
def test_a_connection_is_kept_as_the_server_says(
    version: str, connection: bytes, *, keeps: bool
) -> None:
    assert keeps_alive(version, {b"connection": connection}) == keeps
