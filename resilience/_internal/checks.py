"""Checks of arguments: a wrong type raises at once, values out of range are reported together."""

from collections.abc import Collection, Mapping
from inspect import iscoroutinefunction
from types import UnionType

DAY_S = 86_400.0
MAX_COUNT = 1_000_000_000  # more calls than ever wait or run at once
TIMEOUT_LIKE = "it is a number of seconds, or None for no limit"
_SHORTEST_TIMEOUT_S = 0.01


def expect(name: str, value: object, kind: type | UnionType, next_step: str) -> None:
    """Raise a TypeError that names the value, unless it is of the kind."""
    if not isinstance(value, kind):
        raise TypeError(_wrong(name, value, next_step))


def expect_number(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is a float or an integer; a bool does not count.

    Nor does a Decimal, which the event loop's clock cannot add to its time.
    """
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TypeError(_wrong(name, value, next_step))


def expect_whole(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is an integer; a bool does not count."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(_wrong(name, value, f"it is a whole number; {next_step}"))


def expect_subclass(name: str, value: object, kind: type, next_step: str) -> None:
    """Raise a TypeError unless the value is a class derived from `kind`."""
    if not isinstance(value, type) or not issubclass(value, kind):
        raise TypeError(_wrong(name, value, next_step))


def expect_several(name: str, value: object, next_step: str) -> None:
    """Raise a TypeError unless the value is a collection, other than text or a mapping."""
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


def outside(
    name: str,
    value: float | None,
    low: float,
    high: float,
    next_step: str,
    *,
    whole: bool = False,
    optional: bool = False,
) -> str | None:
    """Return a complaint if `value` is not in [low, high]; NaN never is.

    Args:
        name: Of the setting.
        value: Of the setting.
        low: Least value.
        high: Greatest value.
        next_step: What to write instead.
        whole: Whether only integers are allowed.
        optional: Whether None is allowed.

    Raises:
        TypeError: The value is not a number, or not an integer.
    """
    if value is None and optional:
        return None
    (expect_whole if whole else expect_number)(name, value, next_step)
    if value is None or low <= value <= high:
        return None
    return f"{name} must be in {low:g}..{high:g}, got {value!r:.80}; {next_step}"


def complaint_about_timeout(name: str, limit_s: float | None) -> str | None:
    """Return a complaint if `limit_s` is outside of 10 ms..24 h; None means no limit.

    Raises:
        TypeError: It is not a number.
    """
    return outside(name, limit_s, _SHORTEST_TIMEOUT_S, DAY_S, TIMEOUT_LIKE, optional=True)


def complaint_about_queue(max_queue: int) -> str | None:
    """Return a complaint if the limit of a queue is negative or too large.

    Raises:
        TypeError: It is not an integer.
    """
    next_step = "0 refuses every call that would have to wait"
    return outside("max_queue", max_queue, 0, MAX_COUNT, next_step, whole=True)


def refuse(*complaints: str | None) -> None:
    """Raise one ValueError with all complaints, if there are any."""
    real = [complaint for complaint in complaints if complaint]
    if real:
        raise ValueError("\n".join(real))
