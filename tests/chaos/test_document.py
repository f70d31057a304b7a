import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos import ChaosDocument
from chaos.document import Match, read_document, read_renewal
from chaos.request_body import InvalidDocumentError


def test_every_field_may_be_left_out() -> None:
    assert read_document(b"", b"") == ChaosDocument() == read_document(b"", b"{}")
    assert not ChaosDocument().has_effect


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "failure": st.floats(0, 1),
            "status": st.integers(400, 599),
            "delayMs": st.floats(0, 600_000),
            "jitterMs": st.integers(0, 600_000),
            "failFirst": st.integers(0, 10**9),
            "retryAfterS": st.integers(0, 86_400),
            "seed": st.integers(0, 2**63 - 1),
            "ttlS": st.floats(0.001, 86_400),
            "flapS": st.floats(0.01, 86_400),
            "hang": st.booleans(),
            "body": st.sampled_from(["drip", "truncate", "garbage", "empty"]),
            "match": st.fixed_dictionaries(
                {},
                optional={
                    "path": st.text("ab/%&= ", max_size=9).map("/{}".format),
                    "method": st.sampled_from(["GET", "HEAD", "POST", "DELETE"]),
                },
            ),
        },
    )
)
def test_a_query_and_a_body_mean_the_same(fields: dict[str, Any]) -> None:
    in_query = {name: json.dumps(value) for name, value in fields.items() if name != "body"}
    in_query |= {"body": fields["body"]} if "body" in fields else {}
    by_query = read_document(urlencode(in_query).encode(), b"")
    by_body = read_document(b"", json.dumps(fields).encode())

    assert by_query == by_body
    assert by_body.model_dump(by_alias=True, exclude_unset=True) == fields


@pytest.mark.parametrize(
    "query",
    [
        "failure=1&match.path=/rates&match.method=GET",
        'failure=1&match={"path": "/rates", "method": "GET"}',
    ],
)
def test_a_query_nests_by_a_dot(query: str) -> None:
    match = Match(path="/rates", method="GET")

    assert read_document(query.encode(), b"") == ChaosDocument(failure=1, match=match)


@pytest.mark.parametrize("fields", [{"failure": 0.1}, {"hang": True}, {"body": "empty"}])
def test_one_harmful_field_is_an_effect(fields: dict[str, Any]) -> None:
    assert ChaosDocument(**fields).has_effect


@pytest.mark.parametrize("fields", [{"status": 503}, {"flap_s": 1}, {"match": {}}, {"seed": 1}])
def test_how_whom_and_when_are_no_effect(fields: dict[str, Any]) -> None:
    assert not ChaosDocument(**fields).has_effect


@pytest.mark.parametrize(
    ("match", "method", "path", "is_covered"),
    [
        (Match(), "GET", "/", True),
        (Match(path="/rates"), "GET", "/rates", True),
        (Match(path="/rates"), "POST", "/rates/USD", True),
        (Match(path="/rates"), "GET", "/ratesheet", True),
        (Match(path="/rates/"), "GET", "/rates", False),
        (Match(path="/rates"), "GET", "/v1/rates", False),
        (Match(method="GET"), "GET", "/rates", True),
        (Match(method="GET"), "HEAD", "/rates", False),
        (Match(path="/rates", method="GET"), "GET", "/rates", True),
        (Match(path="/rates", method="GET"), "GET", "/stats", False),
    ],
)
def test_a_match_covers_by_beginning_and_method(
    match: Match, method: str, path: str, is_covered: bool
) -> None:
    assert match.covers(method, path) is is_covered


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("failure=1.01", "failure"),
        ("failure=-0.1", "failure"),
        ("failure=NaN", "failure"),
        ("failure=inf", "failure"),
        ("failure=1e999", "failure"),
        ("failure=", "failure"),
        ("failure=a", "failure"),
        ("failure=true", "failure"),
        ("failure=[0.3]", "failure"),
        ("failure=0.1&failure=0.2", "failure"),
        ("status=399", "status"),
        ("status=600", "status"),
        ("status=500.5", "status"),
        ("status=5_00", "status"),
        ("delayMs=-1", "delayMs"),
        ("delayMs=600001", "delayMs"),
        ("delay_ms=5", "delay_ms"),
        ("jitterMs=NaN", "jitterMs"),
        ("failFirst=0.5", "failFirst"),
        ("failFirst=-1", "failFirst"),
        ("retryAfterS=-1", "retryAfterS"),
        ("seed=-1", "seed"),
        ("seed=9223372036854775808", "seed"),
        ("ttlS=0", "ttlS"),
        ("ttlS=Infinity", "ttlS"),
        ("hang=1", "hang"),
        ("hang=yes", "hang"),
        ("body=drop", "body"),
        ("body=", "body"),
        ("flapS=0", "flapS"),
        ("flapS=0.009", "flapS"),
        ("flapS=86401", "flapS"),
        ("match=/rates", "match"),
        ("match.path=rates", "match.path"),
        ("match.path=5", "match.path"),
        ("match.method=get", "match.method"),
        ("match.host=x", "match.host"),
        ("match.path=/a&match.path=/b", "match.path"),
        ("match={}&match.path=/b", "match"),
        ("sickness=1", "sickness"),
        ("=1", ""),
    ],
)
def test_a_wrong_query_names_the_field(query: str, field: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        read_document(query.encode(), b"")

    assert list(raised.value.fields) == [field]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"failure": "0.3"}', "failure"),
        (b'{"failure": true}', "failure"),
        (b'{"failure": null}', "failure"),
        (b'{"failure": 0.1, "failure": 0.2}', "failure"),
        (b'{"status": 500.0}', "status"),
        (b'{"retryAfterS": "5"}', "retryAfterS"),
        (b'{"extra": {"failure": 1}}', "extra"),
        (b'{"match": {"path": "/a", "path": "/b"}}', "path"),
        (b'{"match.path": "/a"}', "match.path"),
        (b'{"match": [1]}', "match"),
        (b'{"hang": "true"}', "hang"),
        (b'{"failure": NaN}', "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b"{", "body"),
        (b"\xff\xfe", "body"),
        (b"[" * 60_000, "body"),
        (b'{"status": ' + b"9" * 5000 + b"}", "body"),
    ],
)
def test_a_wrong_body_names_the_field(body: bytes, field: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        read_document(b"", body)

    assert list(raised.value.fields) == [field]


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        read_document(b"failure=2&status=1&x=1", b"")

    assert set(raised.value.fields) == {"failure", "status", "x"}


def test_a_query_beside_a_body_is_refused() -> None:
    with pytest.raises(InvalidDocumentError, match="not in both"):
        read_document(b"failure=1", b'{"failure": 1}')


@pytest.mark.parametrize(("query", "field"), [(b"", "ttlS"), (b"ttlS=5&failure=1", "failure")])
def test_a_renewal_is_a_lease_and_nothing_else(query: bytes, field: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        read_renewal(query, b"")

    assert list(raised.value.fields) == [field]


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_whatever_comes_in_is_a_document_or_an_invalid_one(query: bytes, body: bytes) -> None:
    with suppress(InvalidDocumentError):
        assert 0 <= read_document(query, body).failure <= 1
