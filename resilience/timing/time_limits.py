"""Time limits of one length."""

from collections.abc import Callable
from functools import partial

from resilience.timing.deadlines import Deadlines
from resilience.timing.time_limit import TimeLimit


def time_limits(limit_s: float, error: Callable[[float], Exception]) -> Callable[[], TimeLimit]:
    """Return what makes a limit of `limit_s` seconds for one block, as `TimeLimit` describes it.

    `limited = time_limits(…)` once, then `with limited():` for each block: all share one timer.
    """
    return partial(TimeLimit, limit_s, error, Deadlines())
