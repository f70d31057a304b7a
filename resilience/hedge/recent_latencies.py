"""How long the latest answers took: a percentile of a sliding sample."""

import math
from bisect import bisect_left, insort
from collections import deque

_FEWEST = 20
_KEPT = 10


class RecentLatencies:
    """The nearest-rank percentile of the latest latencies.

    It is known once the sample carries it: from 20 latencies, and from 100/(100 - percentile), so
    that one of them at least may lie above. Ten times as many are kept. Adding costs a binary
    search, reading nothing.

    Args:
        percentile: In percent, above 0 and below 100.
    """

    def __init__(self, percentile: float) -> None:
        self._share = percentile / 100
        self._enough = max(_FEWEST, math.ceil(100 / (100 - percentile) - 1e-9))
        self._in_order: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, latency_s: float) -> None:
        """Count an answer that took `latency_s` seconds; the oldest is forgotten for it."""
        if len(self._in_order) == self._enough * _KEPT:
            oldest_s = self._in_order.popleft()
            del self._sorted[bisect_left(self._sorted, oldest_s)]
        self._in_order.append(latency_s)
        insort(self._sorted, latency_s)

    def percentile_s(self) -> float | None:
        """Return the percentile in seconds; None while there are too few latencies."""
        count = len(self._sorted)
        if count < self._enough:
            return None
        return self._sorted[math.ceil(self._share * count - 1e-9) - 1]
