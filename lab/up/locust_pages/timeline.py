"""Outcomes and latencies of each second, bounded in memory and mergeable across workers."""

import math
from collections import Counter
from dataclasses import dataclass, field

KEPT_S = 300
P95_NEEDS = 20  # fewer requests do not carry a 95th percentile
_LOG_STEP = math.log(1.05)  # width of a latency bucket: a latency is known to within 2.5 %

# A second as it travels: its number, (outcome, count) pairs, (bucket, count) pairs.
Row = list[object]


@dataclass(slots=True)
class _Second:
    outcomes: Counter[str] = field(default_factory=Counter)
    latencies: Counter[int] = field(default_factory=Counter)


class Timeline:
    """What finished in each of the last `KEPT_S` seconds of the wall clock."""

    def __init__(self) -> None:
        self._seconds: dict[int, _Second] = {}

    def add(self, finished_s: float, outcome: str, latency_ms: float) -> None:
        """Count one request.

        Args:
            finished_s: when it ended, in seconds since the epoch.
            outcome: its class.
            latency_ms: >= 0.
        """
        second = self._second(int(finished_s))
        second.outcomes[outcome] += 1
        second.latencies[_bucket(latency_ms)] += 1

    def take(self) -> list[Row]:
        """Return all seconds in their travelling form and forget them."""
        rows: list[Row] = [
            [number, list(second.outcomes.items()), list(second.latencies.items())]
            for number, second in self._seconds.items()
        ]
        self._seconds.clear()
        return rows

    def merge(self, rows: list[Row]) -> None:
        """Add what another timeline's `take` returned."""
        for number, outcomes, latencies in rows:
            second = self._second(int(number))  # type: ignore[call-overload]
            second.outcomes.update(dict(outcomes))  # type: ignore[call-overload]
            second.latencies.update(dict(latencies))  # type: ignore[call-overload]

    def points(self, *, before_s: float) -> list[dict[str, float | None]]:
        """Return the whole seconds before *before_s*, in order, as points of a chart.

        Each has `t` (its first moment, seconds since the epoch), the counts `fresh`, `stale` and
        `error` (each outcome that is neither fresh nor stale), `p50Ms`, and `p95Ms` (None under
        `P95_NEEDS` requests). A second without a request is left out.
        """
        return [
            _point(number, second)
            for number, second in sorted(self._seconds.items())
            if number < int(before_s)
        ]

    def _second(self, number: int) -> _Second:
        second = self._seconds.get(number)
        if second is None:
            second = self._seconds[number] = _Second()
            forgotten = max(self._seconds) - KEPT_S
            for old in [each for each in self._seconds if each <= forgotten]:
                del self._seconds[old]
        return second


def _point(number: int, second: _Second) -> dict[str, float | None]:
    fresh, stale, total = (
        second.outcomes["fresh"],
        second.outcomes["stale"],
        second.outcomes.total(),
    )
    return {
        "t": number,
        "fresh": fresh,
        "stale": stale,
        "error": total - fresh - stale,
        "p50Ms": _percentile_ms(second.latencies, 0.5),
        "p95Ms": _percentile_ms(second.latencies, 0.95) if total >= P95_NEEDS else None,
    }


def _bucket(latency_ms: float) -> int:
    return math.floor(math.log(max(latency_ms, 0.01)) / _LOG_STEP)


def _percentile_ms(latencies: Counter[int], q: float) -> float:
    """Return the nearest-rank percentile: the middle of the bucket that holds it."""
    rank = max(1, math.ceil(q * latencies.total()))
    for bucket in sorted(latencies):
        rank -= latencies[bucket]
        if rank <= 0:
            return math.exp((bucket + 0.5) * _LOG_STEP)
    raise ValueError("no latency was counted in this second")
