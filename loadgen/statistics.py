"""Statistics of one load: counts, mean, nearest-rank percentiles, rate."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR
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

    `counts` has every class of the rule, `error` and `generator_error`; they add up to `requests`.
    Requests of class `generator_error` were not sent and have no latency. A percentile is None
    where there are too few requests for it, mean and maximum where there is none.

    `requests_per_s` of an open load is over the time in which its requests fell due: the last of
    them falls due one gap before that ends, so that any other time would show another rate than
    the one that was sent. A closed load has no such time, and no gaps: its tasks are busy from the
    first due to the last ended, which is `duration_s`.
    """

    requests: int
    counts: Mapping[str, int]
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    requests_per_s: float
    duration_s: float


def summarise(
    samples: Samples, classes: Sequence[str], *, scheduled_s: float | None = None
) -> Summary:
    """Reduce the samples of one load, at least one, to a summary.

    Args:
        samples: of one load, or of a part of it.
        classes: of its rule.
        scheduled_s: how long the requests of this part of an open load fell due; by default what
            the generator's report says of the whole load.

    Raises:
        ValueError: no samples.
    """
    if not len(samples):
        raise ValueError("no request was sent: there is nothing to summarise")
    counts = Counter[str]()
    for ending, count in samples.count_endings().items():
        counts[ending.outcome] += count
    names = (*classes, ERROR_CLASS, GENERATOR_ERROR)
    latencies_ms = sorted(1000 * latency for latency in samples.latencies_s(but=GENERATOR_ERROR))
    return Summary(
        requests=len(samples),
        counts={name: counts[name] for name in names},
        mean_ms=sum(latencies_ms) / len(latencies_ms) if latencies_ms else None,
        p50_ms=percentile(latencies_ms, 0.50),
        p95_ms=percentile(latencies_ms, 0.95),
        p99_ms=percentile(latencies_ms, 0.99),
        max_ms=latencies_ms[-1] if latencies_ms else None,
        requests_per_s=len(samples) / (scheduled_s or rated_s(samples)),
        duration_s=samples.span_s(),
    )


def rated_s(samples: Samples) -> float:
    """Return the seconds over which the rate of a load is taken; see `Summary`."""
    report = samples.report
    return (report and report.scheduled_s) or samples.span_s()
