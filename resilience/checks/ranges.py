"""Checks of settings: all that is out of range is said at once."""

from resilience.checks.kinds import expect_number, expect_whole

DAY_S = 86_400.0
MAX_COUNT = 1_000_000_000  # more calls than ever wait or run at once
TIMEOUT_LIKE = "it is a number of seconds, or None for no limit"
_SHORTEST_TIMEOUT_S = 0.01


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
        whole: Whether only integers will do.
        optional: Whether None will do too.

    Raises:
        TypeError: The value is no number, or no integer.
    """
    if value is None and optional:
        return None
    (expect_whole if whole else expect_number)(name, value, next_step)
    if value is None or low <= value <= high:
        return None
    return f"{name} must be in {low:g}..{high:g}, got {value!r:.80}; {next_step}"


def complaint_about_timeout(name: str, limit_s: float | None) -> str | None:
    """Return a complaint if `limit_s` is outside of 10 ms..24 h; None is no limit.

    Raises:
        TypeError: It is no number.
    """
    return outside(name, limit_s, _SHORTEST_TIMEOUT_S, DAY_S, TIMEOUT_LIKE, optional=True)


def complaint_about_queue(max_queue: int) -> str | None:
    """Return a complaint unless so many calls may wait in a line.

    Raises:
        TypeError: It is no integer.
    """
    next_step = "0 refuses whoever has to wait"
    return outside("max_queue", max_queue, 0, MAX_COUNT, next_step, whole=True)


def refuse(*complaints: str | None) -> None:
    """Raise one ValueError with every complaint, if there is any."""
    real = [complaint for complaint in complaints if complaint]
    if real:
        raise ValueError("\n".join(real))
