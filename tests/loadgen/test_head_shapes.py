"""What is known of a reply by its head's shape is what the parser would find, or nothing."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen import CodeRule, HeaderRule, JsonFieldRule, Load, OutcomeRule, Request
from loadgen.classify import Classifier
from loadgen.endings import Ending, Endings
from loadgen.load import Closed
from loadgen.prepared import MOST_SHAPES, KnownHead, PreparedRequest, prepare
from loadgen.reply import ReplyError, ReplyReader

RULE = JsonFieldRule(json_field="source", classes=("fresh", "stale"))
FRESH, STALE = b'{"source":"fresh"}', b'{"source": "stale"}'


def reply(*lines: bytes, body: bytes = FRESH, status: bytes = b"200 OK") -> bytes:
    """Return a reply with its length as the last header."""
    head = b"\r\n".join([b"HTTP/1.1 " + status, *lines, b"Content-Length: %d" % len(body)])
    return head + b"\r\n\r\n" + body


class Reading:
    """One request's replies, read as the engine does: by what is known, or by the parser."""

    def __init__(self, rule: OutcomeRule = RULE) -> None:
        self.endings = Endings()
        self.classifier = Classifier(rule, self.endings)
        one = Closed(requests=1, tasks=1)
        load = Load(requests=(Request(url="http://127.0.0.1/"),), shape=one, outcome=rule)
        self.request: PreparedRequest = prepare(load)[0][0]

    def learn(self, data: bytes) -> None:
        """Take a whole reply from the parser."""
        reader = self._read(data)
        assert reader is not None
        assert reader.is_reusable
        assert reader.status is not None
        judge = self.classifier.judge_of(reader.status, reader.headers)
        end = data.find(b"\r\n\r\n") + 4
        assert self.classifier.decisive_headers is not None
        if len(data) - end != reader.body_bytes:
            return  # the engine learns nothing of such a reply
        known = KnownHead(data[:end], len(data), judge)
        self.request.learn_shape(known, self.classifier.decisive_headers)

    def known(self, data: bytes) -> tuple[bytes, Ending] | None:
        """Return body and ending as the head's shape tells them."""
        known = self.request.judge_by_shape(data)
        if known is None:
            return None
        judge, body = known
        code = judge(body)
        return body, list(self.endings)[code]

    def parsed(self, data: bytes) -> tuple[bytes, Ending] | None:
        """Return them as the parser tells them, if the reply is whole and may be followed."""
        reader = self._read(data)
        if reader is None or not reader.is_complete or not reader.is_reusable:
            return None
        assert reader.status is not None
        code = self.classifier.judge_of(reader.status, reader.headers)(reader.body)
        return reader.body, list(self.endings)[code]

    def _read(self, data: bytes) -> ReplyReader | None:
        reader = ReplyReader(keeps_bodies=True)
        try:
            reader.feed(data)
        except ReplyError:
            return None
        return reader


def test_a_header_of_no_consequence_may_vary_and_so_may_the_body() -> None:
    reading = Reading()
    reading.learn(reply(b"X-Request-Id: 1", b"Date: Tue, 01 Dec 2026 00:00:00 GMT"))
    other = reply(b"X-Request-Id: 22", b"Date: Tue, 01 Dec 2026 00:00:01 GMT", body=STALE)

    assert reading.known(other) == (STALE, Ending("stale", 200))


@pytest.mark.parametrize(
    "other",
    [
        reply(b"X-Id: 1", status=b"500 Sorry"),
        reply(b"X-Id: 1", b"X-More: 1"),
        reply(b"X-ID: 1"),
        reply(b"X-Id: 1\x00"),
        reply(b"X-Id: 1\nX: 2"),
        reply(b"X-Id: 1\r\n folded"),
        reply(b"X-Id: \xe9"),
        reply(b"X-Id: 1", b"Content-Length: 3"),
        reply(b"X-Id: 1", b"Transfer-Encoding: chunked"),
        reply(b"X-Id: 1") + b"more",
        reply(b"X-Id: 1")[:-1],
        reply(b"X-Id: 1").replace(b"\r\n", b"\n"),
        reply(b"X-Id: 1").replace(b"Length: ", b"Length: +"),
        reply(b"X-Id: 1").replace(b"1.1", b"1.0"),
    ],
)
def test_what_differs_in_anything_else_goes_to_the_parser(other: bytes) -> None:
    reading = Reading()
    reading.learn(reply(b"X-Id: 7"))

    assert reading.known(other) is None


@pytest.mark.parametrize(
    ("known", "other"),
    [
        (b"X-Chaos: delay", b"X-Chaos: failure"),
        (b"Connection: keep-alive", b"Connection: close"),
        (b"Content-Encoding: identity", b"Content-Encoding: gzip"),
        (b"x-cache: HIT", b"x-cache: MISS"),
    ],
)
def test_a_header_that_decides_something_must_be_the_same(known: bytes, other: bytes) -> None:
    reading = Reading(HeaderRule(header="X-Cache", classes=("HIT", "MISS")))
    reading.learn(reply(known))

    assert reading.known(reply(known, body=STALE)) is not None
    assert reading.known(reply(other)) is None


def test_code_of_a_users_own_may_read_any_header() -> None:
    rule = CodeRule(code=f"{__file__}:Anything", options={})

    assert Classifier(rule, Endings()).decisive_headers is None


class Anything:
    """An outcome rule that is never asked."""

    classes = ("ok",)

    def classify(self, reply: object) -> str:
        """Return its only class."""
        del reply
        return "ok"


def test_shapes_of_two_statuses_are_known_in_turn() -> None:
    reading = Reading()
    reading.learn(reply(b"X-Id: 1"))
    reading.learn(reply(b"X-Id: 1", status=b"503 Busy"))

    for number in range(5):
        line = b"X-Id: %d" % number
        assert reading.known(reply(line)) == (FRESH, Ending("fresh", 200))
        assert reading.known(reply(line, status=b"503 Busy")) == (
            FRESH,
            Ending("error", 503, "status 503"),
        )


def test_a_server_that_shuffles_its_headers_is_remembered_in_bounded_memory() -> None:
    reading = Reading()
    lines = [b"A: 1", b"B: 1", b"C: 1", b"D: 1", b"E: 1"]
    for order in itertools.permutations(lines):
        reading.learn(reply(*order))

    assert len(reading.request._shapes) == MOST_SHAPES


NAMES = st.sampled_from(
    [b"X-Id", b"x-id", b"Date", b"Set-Cookie", b"Server", b"Connection", b"X-Chaos", b"Via", b"TE"]
)
VALUES = st.one_of(
    st.sampled_from([b"", b" ", b" 1", b" close", b" keep-alive", b" chunked", b" gzip", b"\t7 "]),
    st.binary(max_size=12),
)
LINES = st.lists(st.tuples(NAMES, VALUES).map(lambda pair: pair[0] + b":" + pair[1]), max_size=4)
BODIES = st.sampled_from([b"", FRESH, STALE, b"{}", b"\r\n\r\n", FRESH + b"\r\n\r\n"])


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(LINES, BODIES), min_size=2, max_size=6), st.data())
def test_what_a_shape_tells_is_what_the_parser_tells(
    heads: list[tuple[list[bytes], bytes]], data: st.DataObject
) -> None:
    reading = Reading()
    for lines, body in heads:
        whole = reply(*lines, body=body)
        at = data.draw(st.integers(0, len(whole)))
        damage = data.draw(st.sampled_from([b"", b"", b"\r\n", b"\n", b"\0", b"9", b":", b"x"]))
        for each in (whole, whole[:at] + damage + whole[at + len(damage) :]):
            known = reading.known(each)
            if known is not None:
                assert known == reading.parsed(each)
            elif reading.parsed(each) is not None:
                reading.learn(each)
