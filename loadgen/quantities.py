"""Durations, sizes, shares and rates as people write them: the one parser of units.

The command line of `loadgen` and the files of the lab read their quantities here, so that a text
which one of them takes means the same to the other. Only a share may do without a unit.
"""

import json
import re
from decimal import Decimal

LONGEST_S = 24 * 3600
HIGHEST_PER_S = 1_000_000  # far above what one machine sends
MAX_MEBIBYTES = 1024 * 1024
_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "min": Decimal(60), "h": Decimal(3600)}
_PER = {unit: seconds for unit, seconds in _SECONDS.items() if unit != "ms"}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_MEBIBYTES = {"MiB": 1, "GiB": 1024}
_SHOWN_CHARACTERS = 60
_NUMBER = r"[-+]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})"
_MEASURE = re.compile(rf"({_NUMBER})\s*([A-Za-zµ%]*\s*(?:/\s*[A-Za-z]*)?)")


class QuantityError(ValueError):
    """A value is not what it must be.

    Args:
        what: goes after the name of the value, for instance `must say its unit, got "5"`.
        advice: the next step; empty where only the reader of the value knows one.
    """

    def __init__(self, what: str, *, advice: str = "") -> None:
        self.what = what
        self.advice = advice
        super().__init__(f"{what}; {advice}" if advice else what)


def duration_s(text: str) -> Decimal:
    """Return a duration such as `500ms`, `1.5 s`, `2 min` or `1 h` in seconds, exactly.

    Raises:
        QuantityError: no number, no unit or another one, negative, or over 24 h.
    """
    number, unit = _split(text, kind="a duration such as 500ms")
    if not unit:
        raise QuantityError(
            f"must say its unit, got {show(text)}", advice=f"write {number}ms or {number}s"
        )
    seconds = number * _scale(_SECONDS, unit, text)
    if not 0 <= seconds <= LONGEST_S:
        raise QuantityError(f"must be a duration from 0 to 24 h, got {show(text)}")
    return seconds


def seconds(text: str) -> float:
    """Return a duration in seconds, more than 0; `QuantityError` as `duration_s`."""
    value = duration_s(text)
    if value == 0:
        raise QuantityError(f"must be more than 0, got {show(text)}")
    return float(value)


def rate_per_s(text: str) -> float:
    """Return a rate such as `50/s`, `300/min` or `1.8/h` in events per second, from 0.

    Raises:
        QuantityError: no number, no unit or another one, negative, or over HIGHEST_PER_S.
    """
    kind = "a rate such as 50/s"
    number, unit = _split(text, kind=kind)
    if not unit and number >= 0:
        raise QuantityError(f"must say its unit, got {show(text)}", advice=f"write {number}/s")
    if not unit.startswith("/") or number < 0:
        raise QuantityError(f"must be {kind}, got {show(text)}")
    value = number / _scale(_PER, unit[1:].strip(), text, before="/")
    if value > HIGHEST_PER_S:
        raise QuantityError(f"must be at most {HIGHEST_PER_S}/s, got {show(text)}")
    return float(value)


def positive_rate_per_s(text: str) -> float:
    """Return a rate in events per second, more than 0; `QuantityError` as `rate_per_s`."""
    value = rate_per_s(text)
    if not value:
        raise QuantityError(f"must be more than 0, got {show(text)}")
    return value


def ramp_per_s(text: str) -> tuple[float, float]:
    """Return the rates at the beginning and the end of `10/s to 100/s`, or one rate as both.

    Raises:
        QuantityError: as `rate_per_s`, or both are 0.
    """
    first, to, last = text.partition(" to ")
    rates = (rate_per_s(first), rate_per_s(last if to else first))
    if not any(rates):
        raise QuantityError(f"must be more than 0 at one end, got {show(text)}")
    return rates


def size_bytes(text: str) -> int:
    """Return a size such as `100 B` or `1.5 MiB` in bytes, a whole number from 0.

    Raises:
        QuantityError: no number, no unit or another one, no whole bytes, or negative.
    """
    number, unit = _split(text, kind="a size such as 4 KiB")
    if unit not in _BYTES:
        raise QuantityError(
            f"must be in B, KiB, MiB or GiB, got {show(text)}", advice=f"write {number} B"
        )
    size = number * _BYTES[unit]
    if size < 0 or size != int(size):
        raise QuantityError(f"must be whole bytes, got {show(text)}")
    return int(size)


def size_bytes_per_s(text: str) -> int:
    """Return a bandwidth such as `10 KiB/s` in bytes per second; `QuantityError` as the size."""
    size, slash, unit = text.rpartition("/")
    if not slash or unit.strip() != "s":
        raise QuantityError(f"must be a size per second, got {show(text)}")
    return size_bytes(size)


def mebibytes(text: str) -> int:
    """Return a size such as `256 MiB` or `1.5 GiB` in MiB, a whole number from 1.

    Raises:
        QuantityError: no number, no unit or another one, no whole MiB, or out of range.
    """
    number, unit = _split(text, kind="a size such as 256 MiB")
    if unit not in _MEBIBYTES:
        raise QuantityError(
            f"must be in MiB or GiB, got {show(text)}", advice=f"write {number} MiB"
        )
    size = number * _MEBIBYTES[unit]
    if not 1 <= size <= MAX_MEBIBYTES or size != int(size):
        raise QuantityError(f"must be whole MiB from 1 to {MAX_MEBIBYTES}, got {show(text)}")
    return int(size)


def share(text: str) -> float:
    """Return a share such as `0.3` or `30 %`, in [0, 1].

    Raises:
        QuantityError: no number, another unit, or out of range.
    """
    kind = "a share such as 0.3 or 30 %"
    number, unit = _split(text, kind=kind)
    if unit not in {"", "%"}:
        raise QuantityError(f"must be {kind}, got {show(text)}")
    value = number / 100 if unit else number
    if not 0 <= value <= 1:
        advice = f"write {number} %" if not unit and 1 < number <= 100 else ""  # noqa: PLR2004
        raise QuantityError(
            f"must be a share from 0 to 1 or 0 % to 100 %, got {show(text)}", advice=advice
        )
    return float(value)


def show(text: str) -> str:
    """Return *text* in double quotes on one line, shortened if it is long."""
    short = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return json.dumps(short, ensure_ascii=False)


def _split(text: str, *, kind: str) -> tuple[Decimal, str]:
    match = _MEASURE.fullmatch(text.strip())
    if match is None:
        raise QuantityError(f"must be {kind}, got {show(text)}")
    return Decimal(match[1]), match[2].strip()


def _scale(scales: dict[str, Decimal], unit: str, text: str, *, before: str = "") -> Decimal:
    if unit not in scales:
        known = ", ".join(before + each for each in scales)
        what = f"has the unknown unit {show(unit)} in {show(text)}"
        raise QuantityError(what, advice=f"write one of {known}")
    return scales[unit]
