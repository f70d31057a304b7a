"""Checks of kinds, so that a value of the wrong one is named where it is given."""

from numbers import Real
from types import UnionType


def expect(name: str, value: object, kind: type | UnionType, next_step: str) -> None:
    """Raise a TypeError that names the value, unless it is of the kind."""
    if not isinstance(value, kind):
        raise TypeError(_wrong(name, value, next_step))


def expect_number(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is a real number or None; a bool is no number here.

    Nor is a Decimal: the event loop's clock cannot add it to its time.
    """
    if value is None or type(value) in (float, int):
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(_wrong(name, value, next_step))


def _wrong(name: str, value: object, next_step: str) -> str:
    return f"{name} has the wrong type: got {value!r:.80} ({type(value).__name__}); {next_step}"
