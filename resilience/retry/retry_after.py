"""The Retry-After header, as a hostile server might send it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import httpx

from resilience.checks.kinds import expect, expect_function
from resilience.retry.http_date import parse_http_date

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def utc_now() -> datetime:
    """Return the time of day, which only dates of headers are compared with."""
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
    """Return how long the server asks to wait, in seconds, >= 0; infinite for very many digits.

    None if there is no such header, or none that `parse_retry_after` can read; the longest, if
    there are several. A date counts from the time that the response bears in its Date header, so
    that the two clocks need not agree. `wall_clock` returns the aware time now; it is asked only
    where that header is missing, cannot be read, or stands there twice.
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
