"""From samples to figures: counts, latencies by class, kinds of error. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR
from loadgen.report import RunReport
from loadgen.samples import Samples
from loadgen.statistics import percentile, rated_s

SHARES: Mapping[str, float] = {
    "p50": 0.50,
    "p90": 0.90,
    "p95": 0.95,
    "p99": 0.99,
    "p99.9": 0.999,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Latencies of one class of requests, in milliseconds; None where there are too few for it.

    A median is there from one request on, each other percentile from 1 / (1 - share) on: 10 for
    p90, 20 for p95, 100 for p99, 1000 for p99.9.
    """

    count: int
    mean_ms: float | None
    percentiles_ms: Mapping[str, float | None]  # the names are those of SHARES
    max_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorKind:
    """One way in which requests failed; `status` is None where no status line came."""

    error: str
    status: int | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One load in numbers.

    Attributes:
        requests: all that ended.
        duration_s: from the first due to the last ended.
        requests_per_s: all that ended, over the time in which they fell due (open load) or over
            the duration (closed load).
        by_class: each class of the rule in its order, then `error`, then `generator_error`, whose
            requests were not sent and have no latencies; their counts add up to `requests`.
        success: all classes but these two together.
        errors: the most frequent first; their counts add up to those of `error`.
        report: what the generator saw of itself; None if it was stopped before it began.
        unanswered: requests that had been sent and not answered when the load was stopped; they
            are in no other figure.
        waiting: those that were due by then and had not been sent.
    """

    requests: int
    duration_s: float
    requests_per_s: float
    by_class: Mapping[str, Latencies]
    success: Latencies
    errors: Sequence[ErrorKind]
    report: RunReport | None
    unanswered: int = 0
    waiting: int = 0

    @property
    def failure(self) -> Latencies:
        """The requests of class `error`."""
        return self.by_class[ERROR_CLASS]

    @property
    def not_sent(self) -> int:
        """How many requests are of class `generator_error`."""
        return self.by_class[GENERATOR_ERROR].count

    @property
    def limits(self) -> tuple[str, ...]:
        """In words, each reason to take the generator for the limit and not the target."""
        return self.report.limits if self.report else ()

    @property
    def has_no_connection(self) -> bool:
        """Whether the target never took a connection, so that nothing was measured."""
        return self.report is not None and self.report.connections == 0 and not self.not_sent


def figures_of(samples: Samples, classes: Sequence[str]) -> Figures:
    """Reduce the samples of one load, whose rule has *classes*, to figures."""
    by_class = {name: sorted(samples.latencies_s(outcome=name)) for name in (*classes, ERROR_CLASS)}
    success = sorted(latency for name in classes for latency in by_class[name])
    not_sent = len(samples.latencies_s(outcome=GENERATOR_ERROR))
    return Figures(
        requests=len(samples),
        duration_s=samples.span_s(),
        requests_per_s=len(samples) / rated_s(samples) if len(samples) else 0.0,
        by_class={name: _latencies(values) for name, values in by_class.items()}
        | {GENERATOR_ERROR: replace(_latencies([]), count=not_sent)},
        success=_latencies(success),
        errors=_errors(samples),
        report=samples.report,
        unanswered=samples.unanswered,
        waiting=samples.waiting,
    )


def _latencies(sorted_s: Sequence[float]) -> Latencies:
    count = len(sorted_s)
    return Latencies(
        count=count,
        mean_ms=1000 * sum(sorted_s) / count if count else None,
        percentiles_ms={name: _percentile_ms(sorted_s, share) for name, share in SHARES.items()},
        max_ms=1000 * sorted_s[-1] if count else None,
    )


def _percentile_ms(sorted_s: Sequence[float], share: float) -> float | None:
    is_lone_median = len(sorted_s) == 1 and share == SHARES["p50"]
    value = sorted_s[0] if is_lone_median else percentile(sorted_s, share)
    return None if value is None else 1000 * value


def _errors(samples: Samples) -> list[ErrorKind]:
    counts: Counter[tuple[str, int | None]] = Counter()
    for ending, count in samples.count_endings().items():
        if ending.outcome == ERROR_CLASS:
            counts[ending.error, ending.status] += count
    return [
        ErrorKind(error=error, status=status, count=count)
        for (error, status), count in counts.most_common()
    ]
