"""When the requests of an open load are due: pure."""

import math
import random
from collections.abc import Iterator, Sequence

from loadgen.load import Stage


def planned_requests(stages: Sequence[Stage]) -> int:
    """Return how many requests an even schedule holds: the area under the rate, rounded."""
    return round(sum(_area(stage) for stage in stages))


def due_moments(stages: Sequence[Stage], chance: random.Random | None = None) -> Iterator[float]:
    """Yield the moments, in seconds from the first stage's beginning, in order.

    The k-th request is due where the area under the rate reaches k (from 0), so that a constant
    rate r gives 0, 1/r, 2/r, ... With *chance* the steps of the area are drawn from the exponential
    distribution of mean 1 instead: a Poisson process of that rate (Lewis & Shedler 1979, time
    change by the integrated rate).
    """
    reached = 0.0 if chance is None else chance.expovariate(1.0)
    before, began_s, left = 0.0, 0.0, planned_requests(stages)
    for stage in stages:
        area = _area(stage)
        while reached < before + area and (chance is not None or left):
            yield began_s + _moment(stage, reached - before)
            reached += 1.0 if chance is None else chance.expovariate(1.0)
            left -= 1
        before += area
        began_s += stage.duration_s


def _area(stage: Stage) -> float:
    return stage.duration_s * (stage.rate_per_s + stage.last_rate_per_s) / 2


def _moment(stage: Stage, area: float) -> float:
    """Return when the area under the rate reaches *area*: the root of r t + (slope/2) t^2 = area.

    Written with the area on top, which stays exact for a slope near 0 and a rate of 0.
    """
    rate, slope = stage.rate_per_s, (stage.last_rate_per_s - stage.rate_per_s) / stage.duration_s
    if area <= 0:
        return 0.0
    root = math.sqrt(max(0.0, rate * rate + 2 * slope * area))
    return min(stage.duration_s, 2 * area / (rate + root))
