"""Checks of kinds, so that a value of the wrong one is named where it is given."""

from collections.abc import Collection, Mapping
from inspect import iscoroutinefunction
from types import UnionType


def expect(name: str, value: object, kind: type | UnionType, next_step: str) -> None:
    """Raise a TypeError that names the value, unless it is of the kind."""
    if not isinstance(value, kind):
        raise TypeError(_wrong(name, value, next_step))


def expect_number(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is a float or an integer; a bool is no number here.

    Nor is a Decimal, which the event loop's clock cannot add to its time.
    """
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TypeError(_wrong(name, value, next_step))


def expect_whole(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is an integer; a bool is none here."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(_wrong(name, value, f"it is a whole number; {next_step}"))


def expect_subclass(name: str, value: object, kind: type, next_step: str) -> None:
    """Raise a TypeError unless the value is a class derived from `kind`."""
    if not isinstance(value, type) or not issubclass(value, kind):
        raise TypeError(_wrong(name, value, next_step))


def expect_several(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is a collection of values: no text and no mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise TypeError(_wrong(name, value, next_step))


def expect_callable(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value can be called."""
    if not callable(value):
        raise TypeError(_wrong(name, value, next_step))


def expect_function(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value can be called without `await`.

    A coroutine function would be called and never run.
    """
    expect_callable(name, value, next_step)
    if iscoroutinefunction(value) or iscoroutinefunction(getattr(value, "__call__", None)):  # noqa: B004 - callable() is above
        raise TypeError(_wrong(name, value, f"it is called without await; {next_step}"))


def _wrong(name: str, value: object, next_step: str) -> str:
    return f"{name} has the wrong type: got {value!r:.80} ({type(value).__name__}); {next_step}"
