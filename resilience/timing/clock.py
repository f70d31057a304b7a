"""The clock of every limit, window and wait."""

from asyncio import get_running_loop

ROUNDING_S = 1e-9
"""Moments that lie no further apart are one: sums of seconds are rounded."""


def loop_time_s() -> float:
    """Return the running event loop's time in seconds, which never runs backwards."""
    return get_running_loop().time()
