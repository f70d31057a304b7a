"""Durations, sizes and shares as people write them; only a share may do without a unit."""

import re
from decimal import Decimal

from lab.files.errors import Wrong, show

MAX_DURATION_S = 24 * 3600.0
_SECONDS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
MAX_MEBIBYTES = 1024 * 1024
_MEBIBYTES = {"MiB": 1, "GiB": 1024}
_NUMBER = r"[-+]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})"
_MEASURE = re.compile(rf"({_NUMBER})\s*([A-Za-zµ%]*)")


def duration_s(text: str) -> Decimal:
    """Return a duration such as `500ms`, `1.5 s`, `2 min` or `1 h` in seconds, exactly.

    Raises:
        Wrong: no number, no unit or another one, negative, or over 24 h.
    """
    number, unit = _split(text, kind="a duration such as 500ms")
    if not unit:
        raise Wrong(
            f"must say its unit, got {show(text)}",
            advice=f"write {number}ms or {number}s",
        )
    if unit not in _SECONDS:
        raise Wrong(
            f"has the unknown unit {show(unit)} in {show(text)}",
            advice="write one of ms, s, min, h",
        )
    seconds = number * _SECONDS[unit]
    if not 0 <= seconds <= MAX_DURATION_S:
        raise Wrong(f"must be a duration from 0 to 24 h, got {show(text)}")
    return seconds


def mebibytes(text: str) -> int:
    """Return a size such as `256 MiB` or `1.5 GiB` in MiB, a whole number from 1.

    Raises:
        Wrong: no number, no unit or another one, no whole MiB, or out of range.
    """
    number, unit = _split(text, kind="a size such as 256 MiB")
    if unit not in _MEBIBYTES:
        raise Wrong(f"must be in MiB or GiB, got {show(text)}", advice=f"write {number} MiB")
    size = number * _MEBIBYTES[unit]
    if not 1 <= size <= MAX_MEBIBYTES or size != int(size):
        raise Wrong(f"must be whole MiB from 1 to {MAX_MEBIBYTES}, got {show(text)}")
    return int(size)


def size_bytes(text: str) -> int:
    """Return a size such as `100 B` or `1.5 MiB` in bytes, a whole number from 0.

    Raises:
        Wrong: no number, no unit or another one, no whole bytes, or negative.
    """
    number, unit = _split(text, kind="a size such as 4 KiB")
    if unit not in _BYTES:
        raise Wrong(f"must be in B, KiB, MiB or GiB, got {show(text)}", advice=f"write {number} B")
    size = number * _BYTES[unit]
    if size < 0 or size != int(size):
        raise Wrong(f"must be whole bytes, got {show(text)}")
    return int(size)


def share(text: str) -> float:
    """Return a share such as `0.3` or `30 %`, in [0, 1].

    Raises:
        Wrong: no number, another unit, or out of range.
    """
    number, unit = _split(text, kind="a share such as 0.3 or 30 %")
    if unit not in {"", "%"}:
        raise Wrong(f"must be a share such as 0.3 or 30 %, got {show(text)}")
    value = number / 100 if unit else number
    if not 0 <= value <= 1:
        advice = f"write {number} %" if not unit and 1 < number <= 100 else ""  # noqa: PLR2004
        raise Wrong(f"must be a share from 0 to 1 or 0 % to 100 %, got {show(text)}", advice=advice)
    return float(value)


def _split(text: str, *, kind: str) -> tuple[Decimal, str]:
    match = _MEASURE.fullmatch(text.strip())
    if match is None:
        raise Wrong(f"must be {kind}, got {show(text)}")
    return Decimal(match[1]), match[2]
