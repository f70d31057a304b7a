# ruff: noqa: DTZ001 - a table of dates is read more easily without their zone
import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience import ResilientClient
from resilience._internal.wire.retry_after import parse_http_date, parse_retry_after, retry_after_s
from tests.resilience.script import NOON, response

SECOND = timedelta(seconds=1)
BOTH_WAYS_OFF = [timedelta(seconds=120), timedelta(seconds=-120), timedelta(days=-20_000)]
HTTP_FORMS = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]


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
        ("007", 7),
        (" 7 ", 7),
        ("\t7", 7),
        ("29.57", 29.57),
        ("30.0", 30),
        ("0.0", 0),
        (http_date(timedelta(hours=-1)), 0),
        ("Sunday, 29-Nov-26 12:00:05 GMT", 5),
        ("Sun Nov 29 12:00:05 2026", 5),
        ("9" * 13, 9_999_999_999_999),
        ("9" * 5000, math.inf),
        ("9" * 5000 + ".5", math.inf),
        ("Fri, 31 Dec 9999 23:59:59 GMT", (datetime.max.replace(tzinfo=UTC) - NOON) // SECOND),
    ],
)
def test_seconds_and_dates_read_as_seconds_to_wait(value: str, seconds: float) -> None:
    assert parsed(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-1",
        "-1.5",
        "+5",
        "1e9",
        "1.5e3",
        "1.",
        ".5",
        "1,5",
        "1.2.3",
        "1_000",
        "NaN",
        "inf",
        "Infinity",
        "soon",
        "30s",
        "1, 2",
        '"7"',
        "٣",
        "1.٣",
        "²",
        "0x10",
        "5\x0b",
        "\xa05",
        "Sun, 99 Foo 2026",
    ],
)
def test_what_reads_as_neither_is_ignored(value: str) -> None:
    assert parsed(value) is None


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_whatever_the_status_the_header_is_read(status: int) -> None:
    assert retry_after_s(response(status, {"retry-after": "9"}), lambda: NOON) == 9


def test_without_the_header_nothing_is_asked_pt_112() -> None:
    assert retry_after_s(response(429), lambda: NOON) is None


@pytest.mark.parametrize("servers_clock", [timedelta(0), *BOTH_WAYS_OFF])
@pytest.mark.parametrize("form", HTTP_FORMS)
def test_a_date_counts_from_the_date_of_its_response_whatever_our_clock_says(
    servers_clock: timedelta, form: str
) -> None:
    sent_at = NOON + servers_clock
    until = sent_at + timedelta(seconds=7)
    headers = {"date": sent_at.strftime(form), "retry-after": until.strftime(form)}
    assert retry_after_s(response(503, headers), lambda: NOON) == 7


@pytest.mark.parametrize(
    "dates",
    [
        [],
        [""],
        ["yesterday"],
        ["Sun, 99 Nov 2026 12:00:00 GMT"],
        [http_date(timedelta(0)), http_date(timedelta(minutes=2))],
    ],
    ids=["missing", "empty", "no-date", "no-such-day", "two"],
)
def test_a_date_counts_from_our_clock_where_the_response_does_not_tell_its_own(
    dates: list[str],
) -> None:
    headers = [("retry-after", http_date(timedelta(seconds=7))), *(("date", d) for d in dates)]
    assert retry_after_s(httpx.Response(503, headers=headers), lambda: NOON) == 7


def test_of_several_headers_the_longest_counts() -> None:
    limited = httpx.Response(429, headers=[("retry-after", "5"), ("retry-after", "7")])
    assert retry_after_s(limited, lambda: NOON) == 7


def test_of_several_headers_those_that_make_no_sense_are_left_out() -> None:
    several = [("retry-after", "-5"), ("retry-after", "7"), ("retry-after", "inf")]
    assert retry_after_s(httpx.Response(429, headers=several), lambda: NOON) == 7


def test_the_wall_clock_is_asked_only_for_dates_in_responses_without_a_date() -> None:
    def broken() -> datetime:
        raise AssertionError("asked")

    assert parse_retry_after("3", broken) == 3
    headers = {"date": http_date(timedelta(0)), "retry-after": http_date(timedelta(seconds=3))}
    assert retry_after_s(response(503, headers), broken) == 3


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


@pytest.mark.parametrize(
    ("value", "now", "date"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", NOON, datetime(1994, 11, 6, 8, 49, 37)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", NOON, datetime(1994, 11, 6, 8, 49, 37)),
        ("Sun Nov  6 08:49:37 1994", NOON, datetime(1994, 11, 6, 8, 49, 37)),
        ("sun, 6 nov 1994 08:49:37 gmt", NOON, datetime(1994, 11, 6, 8, 49, 37)),
        ("Sun, 06 Nov 1994 08:49:37 UTC", NOON, datetime(1994, 11, 6, 8, 49, 37)),
        ("Saturday, 31-Dec-16 23:59:60 GMT", NOON, datetime(2016, 12, 31, 23, 59, 59)),
        ("Friday, 01-Jan-76 00:00:00 GMT", NOON, datetime(2076, 1, 1)),
        ("Saturday, 01-Jan-77 00:00:00 GMT", NOON, datetime(1977, 1, 1)),
        ("Saturday, 01-Jan-05 00:00:00 GMT", NOON.replace(year=2099), datetime(2105, 1, 1)),
        ("Sun, 06 Nov 0000 08:49:37 GMT", NOON, None),
        ("Sun, 06 Nov 10000 08:49:37 GMT", NOON, None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", NOON, None),
        ("Sun, 06 Nov 1994 08:49:61 GMT", NOON, None),
        ("Sun, 06 Nov 1994 08:49:37 PST", NOON, None),
        ("Sun, 06 Nov 1994 08:49:37 +0200", NOON, None),
        ("Sun, 06 Nov 1994 08:49:37", NOON, None),
        ("Sun, 06 Nov 1994", NOON, None),
        ("Sun, ٠٦ Nov 1994 08:49:37 GMT", NOON, None),
        ("1994-11-06T08:49:37Z", NOON, None),
        ("Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:38 GMT", NOON, None),
    ],
)
def test_a_date_is_written_in_one_of_the_three_forms_of_http(
    value: str, now: datetime, date: datetime | None
) -> None:
    expected = None if date is None else date.replace(tzinfo=UTC)
    assert parse_http_date(value, lambda: now) == expected


@given(st.text(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=8).map(" ".join))
def test_no_value_whatever_raises_or_asks_for_less_than_nothing(value: str) -> None:
    seconds = parse_retry_after(value, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert seconds is None or seconds >= 0


SENT = ["", "0", *(http_date(timedelta(days=days)) for days in (0, 9_999, -9_999))]
EDGES = ["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"]


@given(st.sampled_from([*SENT, *EDGES, "7", "inf"]), st.sampled_from([*SENT, *EDGES]))
def test_no_pair_of_dates_asks_for_less_than_nothing(asked: str, sent: str) -> None:
    seconds = retry_after_s(response(503, {"retry-after": asked, "date": sent}), lambda: NOON)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("wall_clock", "message"),
    [
        (lambda: datetime(2026, 11, 29), r"wall_clock\(\) is naive: got .*datetime.now\(UTC\)"),
        (lambda: 5, r"wall_clock\(\) has the wrong type"),
        (None, "wall_clock has the wrong type"),
    ],
)
def test_a_clock_that_no_date_compares_with_is_refused(wall_clock: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ResilientClient([], random=Random(1), wall_clock=wall_clock)  # type: ignore[arg-type]
