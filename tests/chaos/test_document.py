import json
from contextlib import suppress
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos import ChaosDocument
from chaos.document import InvalidDocumentError, read_document, read_renewal


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
        },
    )
)
def test_a_query_and_a_body_mean_the_same(fields: dict[str, float]) -> None:
    by_query = read_document(urlencode(fields).encode(), b"")
    by_body = read_document(b"", json.dumps(fields).encode())

    assert by_query == by_body
    assert by_body.model_dump(by_alias=True, exclude_unset=True) == fields


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
