"""Durations and rates as people write them; one without a unit is refused."""

import re

LONGEST_S = 24 * 3600.0
HIGHEST_PER_S = 1e6  # far above what one machine sends
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_MEASURE = re.compile(r"(\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})\s*(/?)\s*([A-Za-zµ%]*)")


def duration_s(text: str) -> float:
    """Return a duration such as `500ms`, `1.5s`, `2min` or `1h` in seconds.

    Raises:
        ValueError: no number, no unit or another one, or not in (0, 24 h].
    """
    number, slash, unit = _split(text)
    if number and not unit and not slash:
        raise ValueError(f"must say its unit, got {text!r}; write {number}s or {number}ms")
    if not number or slash or unit not in _SECONDS:
        raise ValueError(f"must be a duration in ms, s, min or h, got {text!r}; write 30s")
    seconds = float(number) * _SECONDS[unit]
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"must be a duration above 0 and up to 24h, got {text!r}")
    return seconds


def rate_per_s(text: str) -> float:
    """Return a rate such as `500/s` or `30/min` in events a second.

    Raises:
        ValueError: no number, no unit or another one, or not in (0, 1000000/s].
    """
    number, slash, unit = _split(text)
    if number and not slash and not unit:
        raise ValueError(f"must say its unit, got {text!r}; write {number}/s")
    if not number or not slash or unit not in _SECONDS or unit == "ms":
        raise ValueError(f"must be a rate per s, min or h, got {text!r}; write 500/s")
    rate = float(number) / _SECONDS[unit]
    if not 0 < rate <= HIGHEST_PER_S:
        raise ValueError(f"must be a rate above 0 and up to 1000000/s, got {text!r}")
    return rate


def _split(text: str) -> tuple[str, str, str]:
    """Return number, slash and unit; three empty strings for what is no measure."""
    match = _MEASURE.fullmatch(text.strip())
    return (match[1], match[2], match[3]) if match else ("", "", "")
