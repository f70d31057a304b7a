"""When the requests of an open load are due: pure."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stretch of an open load: a constant rate, or a straight ramp from one rate to another.

    Attributes:
        duration_s: > 0.
        rate_per_s: at its beginning, >= 0.
        end_rate_per_s: at its end, >= 0; None: as at its beginning.

    Raises:
        ValueError: a number is out of range.
    """

    duration_s: float
    rate_per_s: float
    end_rate_per_s: float | None = None

    def __post_init__(self) -> None:
        check_above_0("duration_s", self.duration_s)
        for name in ("rate_per_s", "end_rate_per_s"):
            rate = getattr(self, name)
            if rate is not None and not (math.isfinite(rate) and rate >= 0):
                raise ValueError(f"{name} must be a number of at least 0, got {rate}")

    @property
    def last_rate_per_s(self) -> float:
        """The rate at the end of the stage."""
        return self.rate_per_s if self.end_rate_per_s is None else self.end_rate_per_s

    @property
    def requests(self) -> float:
        """The area under the rate."""
        return self.duration_s * (self.rate_per_s + self.last_rate_per_s) / 2


def planned_requests(stages: Sequence[Stage]) -> int:
    """Return how many requests an even schedule holds: the area under the rate, rounded."""
    return round(sum(stage.requests for stage in stages))


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
        while reached < before + stage.requests and (chance is not None or left):
            yield began_s + _moment(stage, reached - before)
            reached += 1.0 if chance is None else chance.expovariate(1.0)
            left -= 1
        before += stage.requests
        began_s += stage.duration_s


def check_above_0(name: str, value: float | None) -> None:
    """Raise `ValueError` unless *value* is a number above 0, or None."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0, got {value}")


def _moment(stage: Stage, area: float) -> float:
    """Return when the area under the rate reaches *area*: the root of r t + (slope/2) t^2 = area.

    Written with the area on top, which stays exact for a slope near 0 and a rate of 0.
    """
    rate, slope = stage.rate_per_s, (stage.last_rate_per_s - stage.rate_per_s) / stage.duration_s
    if area <= 0:
        return 0.0
    root = math.sqrt(max(0.0, rate * rate + 2 * slope * area))
    return min(stage.duration_s, 2 * area / (rate + root))
