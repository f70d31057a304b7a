import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience import ResilientClient
from resilience.retry.retry_after import parse_retry_after, retry_after_s
from tests.resilience.script import NOON, response


def parsed(value: str) -> float | None:
    return parse_retry_after(value, lambda: NOON)


def http_date(delta: timedelta) -> str:
    return format_datetime(NOON + delta, usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("120", 120, id="PT-109"),
        pytest.param(http_date(timedelta(days=1)), 86_400, id="PT-110"),
        ("0", 0),
        (" 7 ", 7),
        (http_date(timedelta(hours=-1)), 0),
        ("Sunday, 29-Nov-26 12:00:05 GMT", 5),
        ("Sun Nov 29 12:00:05 2026", 5),
        ("9" * 13, math.inf),
        ("9" * 5000, math.inf),
    ],
)
def test_seconds_and_dates_read_as_seconds_to_wait(value: str, seconds: float) -> None:
    assert parsed(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-1",
        "+5",
        "1.5",
        "1e9",
        "NaN",
        "inf",
        "soon",
        "1, 2",
        "٣",
        "²",
        "0x10",
        "Sun, 99 Foo 2026",
    ],
)
def test_what_reads_as_neither_is_ignored(value: str) -> None:
    assert parsed(value) is None


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        pytest.param(429, {}, id="PT-112"),
        pytest.param(500, {"retry-after": "9"}, id="other-status"),
    ],
)
def test_without_a_header_of_a_429_or_503_nothing_is_asked(
    status: int, headers: dict[str, str]
) -> None:
    assert retry_after_s(response(status, headers), lambda: NOON) is None


def test_of_several_headers_the_longest_counts() -> None:
    limited = httpx.Response(429, headers=[("retry-after", "5"), ("retry-after", "7")])
    assert retry_after_s(limited, lambda: NOON) == 7


def test_the_wall_clock_is_asked_for_dates_only() -> None:
    def broken() -> datetime:
        raise AssertionError("asked")

    assert parse_retry_after("3", broken) == 3


TOKENS = [
    "Sun,",
    "29",
    "Nov",
    "2026",
    "12:00:07",
    "GMT",
    "+9999",
    "-",
    "99999999999",
    "0",
    ":",
    "٣",
]


@given(st.text(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=8).map(" ".join))
def test_no_value_whatever_raises_or_asks_for_less_than_nothing(value: str) -> None:
    seconds = parse_retry_after(value, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("wall_clock", "message"),
    [
        (lambda: datetime(2026, 11, 29), r"wall_clock\(\) is naive: got .*datetime.now\(UTC\)"),  # noqa: DTZ001
        (lambda: 5, r"wall_clock\(\) has the wrong type"),
        (None, "wall_clock has the wrong type"),
    ],
)
def test_a_clock_that_no_date_compares_with_is_refused(wall_clock: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ResilientClient([], random=Random(1), wall_clock=wall_clock)  # type: ignore[arg-type]
