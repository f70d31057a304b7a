"""The Retry-After header, as a hostile server might send it."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from resilience.checks.kinds import expect, expect_function

_HONOURED = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_MOST_DIGITS = 12


def utc_now() -> datetime:
    """Return the time of day, which only Retry-After dates are compared with."""
    return datetime.now(UTC)


def expect_aware(name: str, wall_clock: Callable[[], datetime]) -> None:
    """Refuse a clock of another kind, or one whose times no date of a server compares with.

    Raises:
        TypeError: It cannot be called, or returns no aware datetime.
    """
    next_step = "it returns an aware datetime, as `lambda: datetime.now(UTC)` does"
    expect_function(name, wall_clock, next_step)
    now = wall_clock()
    expect(f"{name}()", now, datetime, next_step)
    if now.utcoffset() is None:
        raise TypeError(f"{name}() is naive: got {now!r}; {next_step}")


def retry_after_s(response: httpx.Response, wall_clock: Callable[[], datetime]) -> float | None:
    """Return how long the server of a 429 or 503 asks to wait, in seconds, >= 0.

    None for any other status, a missing header, or one that does not read as RFC 9110 10.2.3
    has it; the longest, if there are several. `wall_clock` returns the aware time now; it is
    asked only if the header is a date.
    """
    if response.status_code not in _HONOURED:
        return None
    values = response.headers.get_list("retry-after")
    asked_s = [parse_retry_after(value, wall_clock) for value in values]
    return max((each for each in asked_s if each is not None), default=None)


def parse_retry_after(value: str, wall_clock: Callable[[], datetime]) -> float | None:
    """Return the seconds that the header's `value` asks for; a date in the past asks for 0."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= _MOST_DIGITS else math.inf
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - wall_clock()).total_seconds())
