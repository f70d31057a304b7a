"""Which reply is of which class."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped] # it ships no types
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen import BodyPatternRule, HeaderRule, JsonFieldRule, OutcomeRule, StatusRule
from loadgen.bodies import LONGEST_BODY_BYTES
from loadgen.classify import Classifier
from loadgen.endings import Ending, Endings
from loadgen.outcomes import rule_from_document, rule_to_document

SOURCE = JsonFieldRule(json_field="source", classes=("fresh",))
FRESH = b'{"source": "fresh"}'
GZIP, DEFLATE, BROTLI = ({b"content-encoding": name} for name in (b"gzip", b"deflate", b"br"))
LONG_BODY_BYTES = 5_000
FILLING = b'"filling": "' + b"x" * LONG_BODY_BYTES + b'"'


def ending_of(
    rule: OutcomeRule, status: int, body: bytes, headers: dict[bytes, bytes] | None = None
) -> tuple[str, str]:
    endings = Endings()
    code = Classifier(rule, endings).judge_of(status, headers or {})(body)
    ending = list(endings)[code]
    assert ending.status == status
    return ending.outcome, ending.error


@pytest.mark.parametrize(
    ("status", "body", "name", "error"),
    [
        (200, FRESH, "fresh", ""),
        (299, FRESH, "fresh", ""),
        (302, FRESH, "error", "status 302"),
        (500, FRESH, "error", "status 500"),
        (200, b"", "error", "body is not JSON"),
        (200, b"\xff\xfe", "error", "body is not JSON"),
        (200, b"[" * 100_000, "error", "body is not JSON"),
        (200, b'["fresh"]', "error", "no field 'source' in the body"),
        (200, b"{}", "error", "no field 'source' in the body"),
        (200, b'{"source": ["fresh"]}', "error", "source is \"['fresh']\", not a known class"),
        (200, b'{"source": null}', "error", "source is 'None', not a known class"),
    ],
)
def test_only_a_named_class_in_a_2xx_json_object_is_no_error(
    status: int, body: bytes, name: str, error: str
) -> None:
    assert ending_of(SOURCE, status, body) == (name, error)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"source": "fresh", ' + FILLING + b"}", "fresh"),
        (b"{" + FILLING + b', "source": "fresh"}', "fresh"),
        (b'{"a": 1.5e3, "b": true, "source" : "fresh" , ' + FILLING + b"} ", "fresh"),
        (b'{"in": {"source": "fresh"}, ' + FILLING + b"}", "error"),
        (b'{"in": ["\\"source\\": \\"fresh\\""], ' + FILLING + b"}", "error"),
        (b'{"text": "\\"source\\": \\"fresh\\"", ' + FILLING + b"}", "error"),
        (b'{"in": {"source": "x"}, "source": "fresh", ' + FILLING + b"}", "fresh"),
        (b'{"source": "fresh", ' + FILLING, "error"),
        (b'[{"source": "fresh", ' + FILLING + b"}]", "error"),
    ],
)
def test_in_a_long_body_only_a_field_at_the_top_counts(body: bytes, name: str) -> None:
    assert ending_of(SOURCE, 200, body)[0] == name


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["source", "a", '"source"']), inner, max_size=3)
    ),
    max_leaves=8,
)


ODD = (  # whatever is said of one of these is said of it when it is long as well
    b'{"source": "fresh", "a": oops}',
    b'{"source": "fresh", "source": "stale"}',
    b'{"source": "stale", "source": "fresh"}',
    b'{"sourc\\u0065": "fresh"}',
    b'{"source": "fr\\u0065sh"}',
    b'{"source": "fresh", "n": NaN}',
    b'{"source": "fresh", "n": 1e999}',
    b'{"source": "fresh"} trailing',
    b'{"source": "fresh",}',
    b'\xef\xbb\xbf{"source": "fresh"}',
    '{"source": "fresh"}'.encode("utf-16"),
    b'{"source": "fresh", "n": "\xff"}',
    b'{"source": "fresh", "n": "\x01"}',
    b'{"source": "fresh", "in": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    b'[{"source": "fresh"}]',
    b'{"in": {"source": "fresh"}}',
)


@pytest.mark.parametrize("body", ODD)
def test_a_long_body_is_of_the_class_that_it_would_have_if_it_were_short(body: bytes) -> None:
    padding = b'{"padding": "' + b"x" * 10_000 + b'", '
    long = (
        body.replace(b"{", padding, 1),
        body[:-1] + b" " * 10_000 + body[-1:],
        b" " * 10_000 + body,
    )

    assert {ending_of(SOURCE, 200, each)[0] for each in long} == {ending_of(SOURCE, 200, body)[0]}


def test_of_a_name_that_is_given_twice_the_last_value_counts() -> None:
    assert ending_of(SOURCE, 200, b'{"source": "stale", "source": "fresh"}')[0] == "fresh"
    assert ending_of(SOURCE, 200, b'{"source": "fresh", "source": "stale"}')[0] == "error"


@settings(max_examples=40, deadline=None)
@given(JSON)
def test_what_stands_beside_the_field_makes_no_difference(document: object) -> None:
    long = orjson.dumps({"first": document, "source": "fresh", "end": "x" * LONG_BODY_BYTES})
    without = orjson.dumps({"first": document, "end": "x" * LONG_BODY_BYTES})

    assert ending_of(SOURCE, 200, long)[0] == "fresh"
    assert ending_of(SOURCE, 200, without)[0] == "error"


def _raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


BOMB = zlib.compress(b" " * (LONGEST_BODY_BYTES + 1), 9)


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        (GZIP, gzip.compress(FRESH, mtime=0), ("fresh", "")),
        (DEFLATE, zlib.compress(FRESH), ("fresh", "")),
        (DEFLATE, _raw_deflate(FRESH), ("fresh", "")),
        (BROTLI, brotli.compress(FRESH), ("fresh", "")),
        (GZIP, gzip.compress(FRESH, mtime=0)[:-9], ("error", "body is gzip cut short")),
        (BROTLI, brotli.compress(FRESH)[:-1], ("error", "body is br cut short")),
        (GZIP, FRESH, ("error", "body is not gzip")),
        (BROTLI, FRESH, ("error", "body is not br")),
        (GZIP, b"", ("error", "body is gzip cut short")),
        (DEFLATE, BOMB, ("error", "body is longer than 16 MiB")),
        (
            {b"content-encoding": b"zip"},
            FRESH,
            ("error", "the coding 'zip' of the body is unknown"),
        ),
    ],
)
def test_a_coded_body_is_decoded_whole_or_is_an_error(
    headers: dict[bytes, bytes], body: bytes, expected: tuple[str, str]
) -> None:
    assert ending_of(SOURCE, 200, body, headers) == expected


def test_a_body_that_the_rule_does_not_read_may_be_coded_as_it_will() -> None:
    assert ending_of(StatusRule(statuses={"2xx": "ok"}), 200, b"?", GZIP) == ("ok", "")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, ("ok", "")),
        (204, ("ok", "")),
        (404, ("unknown", "")),
        (400, ("refused", "")),
        (500, ("error", "status 500")),
    ],
)
def test_by_status_a_status_goes_before_its_range(status: int, expected: tuple[str, str]) -> None:
    rule = StatusRule(statuses={"2xx": "ok", "4xx": "refused", "404": "unknown"})

    assert ending_of(rule, status, b"") == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({b"x-cache": b"hit"}, ("hit", "")),
        ({b"x-cache": b"maybe"}, ("error", "X-Cache is 'maybe', not a known class")),
        ({}, ("error", "no header 'X-Cache'")),
    ],
)
def test_by_header_its_value_is_the_class(
    headers: dict[bytes, bytes], expected: tuple[str, str]
) -> None:
    rule = HeaderRule(header="X-Cache", classes=("hit", "miss"))

    assert ending_of(rule, 200, b"", headers) == expected


def test_by_body_the_first_pattern_that_occurs_is_the_class() -> None:
    rule = BodyPatternRule(patterns={"ok": "<title>.*Welcome", "sorry": "Welcome|за хвилину"})

    assert ending_of(rule, 200, b"<title>Hi, Welcome</title>") == ("ok", "")
    assert ending_of(rule, 200, "спробуйте за хвилину".encode()) == ("sorry", "")
    assert ending_of(rule, 200, b"?") == ("error", "no pattern occurs in the body")
    assert ending_of(rule, 503, b"Welcome") == ("error", "status 503")


@pytest.mark.parametrize(
    "rule",
    [
        SOURCE,
        StatusRule(statuses={"2xx": "ok"}),
        HeaderRule(header="x", classes=("a", "b")),
        BodyPatternRule(patterns={"a": "b"}),
    ],
)
def test_a_rule_comes_back_from_its_document(rule: OutcomeRule) -> None:
    document = orjson.loads(orjson.dumps(rule_to_document(rule)))

    assert rule_from_document(document) == rule


def test_a_server_that_makes_up_endings_fills_no_more_than_the_table() -> None:
    endings = Endings()
    codes = {endings.code(Ending("error", 200, f"value {number}")) for number in range(10_000)}

    assert max(codes) == len(endings) - 1 == 4096
