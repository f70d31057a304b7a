"""Time limits of one length."""

from collections.abc import Callable

from resilience.deadlines import Deadlines
from resilience.time_limit import TimeLimit


class TimeLimits:
    """Makes limits of `limit_s` seconds, each as `TimeLimit` describes it, with one timer."""

    def __init__(self, limit_s: float, error: Callable[[float], Exception]) -> None:
        self._limit_s = limit_s
        self._error = error
        self._deadlines = Deadlines()

    def begin(self) -> TimeLimit:
        """Return a limit for one block: `with limits.begin():`."""
        return TimeLimit(self._limit_s, self._error, among=self._deadlines)
