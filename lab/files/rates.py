"""Rates as people write them, constant or changing: `50/s`, `300/min`, `10/s to 100/s`."""

import re

from lab.files.errors import Wrong, show

MAX_RATE_PER_S = 100_000.0
_SECONDS = {"s": 1, "min": 60}
_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*/\s*([A-Za-z]+)")


def rate_per_s(text: str) -> float:
    """Return a rate such as `50/s` or `300/min` in requests a second.

    Raises:
        Wrong: no number, no unit or another one, or over MAX_RATE_PER_S.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise Wrong(f"must be a rate such as 50/s, got {show(text)}")
    number, unit = match[1], match[2]
    if unit not in _SECONDS:
        raise Wrong(f"has the unknown unit {show(unit)}", advice="write one of /s, /min")
    value = float(number) / _SECONDS[unit]
    if value > MAX_RATE_PER_S:
        raise Wrong(f"must be at most {MAX_RATE_PER_S:g}/s, got {show(text)}")
    return value


def ramp_per_s(text: str) -> tuple[float, float]:
    """Return the rates at the beginning and the end of `10/s to 100/s`, or one rate as both.

    Raises:
        Wrong: as `rate_per_s`, or both are 0.
    """
    first, to, last = text.partition(" to ")
    rates = (rate_per_s(first), rate_per_s(last if to else first))
    if not any(rates):
        raise Wrong(f"must be more than 0 at one end, got {show(text)}")
    return rates
