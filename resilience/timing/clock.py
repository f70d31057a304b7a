"""The clock of every limit, window and wait; and the one that several processes share."""

import time
from asyncio import get_running_loop

ROUNDING_S = 1e-9
"""Moments that lie no further apart are one: sums of seconds are rounded."""


def loop_time_s() -> float:
    """Return the running event loop's time in seconds, which never runs backwards."""
    return get_running_loop().time()


def wall_time_s() -> float:
    """Return the time of day in seconds since 1970, or what the loop has for it: `wall_time`."""
    now_s: float = getattr(get_running_loop(), "wall_time", time.time)()
    return now_s
