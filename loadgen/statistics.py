"""Statistics of one load: counts, mean, nearest-rank percentiles, rate."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen.outcomes import ERROR_CLASS
from loadgen.samples import Samples


def percentile(sorted_values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile, or None where the sample is too small to carry it.

    Args:
        sorted_values: ascending, any unit.
        share: in (0, 1), for instance 0.95.

    Returns:
        The smallest value with at least *share* of the sample at or below it. None under
        1 / (1 - share) values (20 for p95, 100 for p99): there it would only be the maximum.
    """
    n = len(sorted_values)
    # Rounded first: 1 - 0.95 is not 0.05 in binary, and 20 values do carry a p95.
    if n < math.ceil(round(1 / (1 - share), 6)):
        return None
    return sorted_values[math.ceil(round(share * n, 6)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One load in numbers. Latencies in milliseconds, over all replies, errors too.

    `counts` has every class of the rule and `error`; they add up to `requests`.
    A percentile is None where there are too few requests for it.
    """

    requests: int
    counts: Mapping[str, int]
    mean_ms: float
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float
    requests_per_s: float
    duration_s: float


def summarise(samples: Samples, classes: Sequence[str]) -> Summary:
    """Reduce the samples of one load, at least one, to a summary; the rate is over first to last.

    Raises:
        ValueError: no samples.
    """
    if not len(samples):
        raise ValueError("no request was sent: there is nothing to summarise")
    latencies_ms = sorted(1000 * latency for latency in samples.latencies_s())
    duration_s = samples.span_s()
    counts = Counter[str]()
    for ending, count in samples.count_endings().items():
        counts[ending.outcome] += count
    return Summary(
        requests=len(samples),
        counts={name: counts[name] for name in (*classes, ERROR_CLASS)},
        mean_ms=sum(latencies_ms) / len(latencies_ms),
        p50_ms=percentile(latencies_ms, 0.50),
        p95_ms=percentile(latencies_ms, 0.95),
        p99_ms=percentile(latencies_ms, 0.99),
        max_ms=latencies_ms[-1],
        requests_per_s=len(samples) / duration_s,
        duration_s=duration_s,
    )
