"""The Retry-After header, hostile values included."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import httpx

from resilience._internal.checks import expect, expect_function

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def utc_now() -> datetime:
    """Return the time of day; it is only compared with dates in headers."""
    return datetime.now(UTC)


def expect_aware(name: str, wall_clock: Callable[[], datetime]) -> None:
    """Refuse a clock of the wrong kind, or one whose times cannot be compared with a date.

    Raises:
        TypeError: It cannot be called, or does not return an aware datetime.
    """
    next_step = "it returns an aware datetime, as `lambda: datetime.now(UTC)` does"
    expect_function(name, wall_clock, next_step)
    now = wall_clock()
    expect(f"{name}()", now, datetime, next_step)
    if now.utcoffset() is None:
        raise TypeError(f"{name}() is naive: got {now!r}; {next_step}")


def retry_after_s(response: httpx.Response, wall_clock: Callable[[], datetime]) -> float | None:
    """Return how long the server asks to wait, in seconds, >= 0; infinite for very many digits.

    None if there is no such header, or none that `parse_retry_after` can read; the longest, if
    there are several. A date counts from the response's own Date header, so that the two clocks
    need not agree. `wall_clock` returns the aware time now; it is used only where that header is
    missing, cannot be read, or is there twice.
    """
    values = response.headers.get_list("retry-after")
    if not values:
        return None
    sent = response.headers.get_list("date")

    def now() -> datetime:
        sent_at = parse_http_date(sent[0].strip(), wall_clock) if len(sent) == 1 else None
        return wall_clock() if sent_at is None else sent_at

    asked_s = (parse_retry_after(value, now) for value in values)
    return max((each for each in asked_s if each is not None), default=None)


def parse_retry_after(value: str, now: Callable[[], datetime]) -> float | None:
    """Return the seconds that the header's `value` asks for; a date in the past asks for 0.

    Read as RFC 9110 10.2.3 has it, and a number may have decimals, which many servers send.
    `now` returns the aware time that a date counts from.
    """
    value = value.strip(" \t")
    if _SECONDS.fullmatch(value):
        return float(value)
    date = parse_http_date(value, now)
    return None if date is None else max(0.0, (date - now()).total_seconds())


_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = "(?P<month>[a-z]{3})"
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DAY_NAME = "[a-z]{3,9}"
_ZONE = r"(?:gmt|utc|[+-]0000)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"(?:{_DAY_NAME}, ?)?(?P<day>[0-9]{{1,2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_CLOCK} {_ZONE}",
        rf"{_DAY_NAME}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_CLOCK} {_ZONE}",
        rf"{_DAY_NAME} {_MONTH} (?P<day>[0-9 ]?[0-9]) {_CLOCK} (?P<year>[0-9]{{4}})",
    )
)
_TWO_DIGITS = 2
_YEARS_AHEAD = 50
_CENTURY = 100
_LEAP_SECOND = 60


def parse_http_date(value: str, now: Callable[[], datetime]) -> datetime | None:
    """Return the aware time; None if the text is not in one of HTTP's three forms.

    Names of days are not compared with the date, and names are read in any case. A leap second
    is the second before it, because a datetime has none.

    Args:
        value: Text of the header.
        now: Returns the aware time; used only for the century of a year of two digits.

    Source: RFC 9110 5.6.7.
    """
    match = next((found for form in _FORMS if (found := form.fullmatch(value))), None)
    if match is None or (month := match["month"].lower()) not in _MONTHS:
        return None
    year, second = int(match["year"]), int(match["second"])
    try:
        return datetime(
            year if len(match["year"]) > _TWO_DIGITS else _nearest_year(year, now().year),
            _MONTHS.index(month) + 1,
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            min(second, 59) if second <= _LEAP_SECOND else second,
            tzinfo=UTC,
        )
    except ValueError:
        return None


def _nearest_year(two_digits: int, year: int) -> int:
    """Return the year of these last two digits that is at most 50 years ahead."""
    first = year + _YEARS_AHEAD - (_CENTURY - 1)
    return first + (two_digits - first) % _CENTURY
