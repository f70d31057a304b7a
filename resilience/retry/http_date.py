"""Times of day as HTTP writes them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

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
    """Return the time, aware; None if it is written in none of HTTP's three forms.

    Names of days are not compared with the date, and names are read in any case. A leap second
    is the second before it, because a datetime has none.

    Args:
        value: As it stands in the header.
        now: Returns the aware time; asked only for the century of a year of two digits.

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
