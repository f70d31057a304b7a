from datetime import UTC, datetime, timedelta
from decimal import Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from front.rate import BadRateError, Rate, read_rate, write_rate

NOW = datetime(2026, 11, 29, 20, 0, 1, tzinfo=UTC)
GOOD = {"code": "USD", "value": 41.2031, "at": "2026-11-29T20:00:00.123Z"}


def test_a_good_rate_is_read_to_the_last_digit() -> None:
    assert read_rate(orjson.dumps(GOOD), "USD", NOW) == Rate(
        code="USD",
        value=Decimal("41.2031"),
        at=datetime(2026, 11, 29, 20, 0, 0, 123_000, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"41.2",
        b'"USD"',
        b"{}",
        b"{",
        b"<html>",
        b"\xff\xfe\x00",
        b"[" * 4000,
        b'{"code":"USD","value":NaN,"at":"2026-11-29T20:00:00Z"}',
        b'{"code":"USD","value":Infinity,"at":"2026-11-29T20:00:00Z"}',
        b'{"code":"USD","value":1e999,"at":"2026-11-29T20:00:00Z"}',
        b'{"code":"USD","value":' + b"9" * 400 + b',"at":"2026-11-29T20:00:00Z"}',
        orjson.dumps(GOOD | {"padding": "x" * 5000}),
        *(orjson.dumps(GOOD | {"code": code}) for code in ("EUR", "usd", "", None, 1, ["USD"])),
        *(
            orjson.dumps(GOOD | {"value": value})
            for value in (0, -41.2, 1e-5, 1e7, "41.2", None, True, [41.2], {"v": 1})
        ),
        *(
            orjson.dumps(GOOD | {"at": at})
            for at in (
                None,
                0,
                "",
                "now",
                "2026-11-29",
                "2026-11-29T20:00:00",
                "2026-13-29T20:00:00Z",
                "2026-11-29T20:05:02Z",
                "9999-12-31T23:59:59Z",
            )
        ),
        *(
            orjson.dumps({name: member for name, member in GOOD.items() if name != missing})
            for missing in GOOD
        ),
    ],
)
def test_whatever_else_arrives_is_no_rate(body: bytes) -> None:
    with pytest.raises(BadRateError) as raised:
        read_rate(body, "USD", NOW)

    assert len(str(raised.value)) < 200


@given(st.binary())
def test_reading_is_total(body: bytes) -> None:
    with pytest.raises(BadRateError):
        read_rate(body, "USD", NOW)


@given(
    st.decimals("0.0001", 1_000_000, places=4),
    st.datetimes(max_value=datetime(2026, 11, 29), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_what_is_written_is_read_back(value: Decimal, at: datetime) -> None:
    rate = Rate(code="PLN", value=value, at=at)

    assert read_rate(write_rate(rate), "PLN", NOW) == rate


def test_clocks_may_differ_a_little() -> None:
    ahead = GOOD | {"at": (NOW + timedelta(minutes=5)).isoformat()}

    assert read_rate(orjson.dumps(ahead), "USD", NOW).at > NOW
