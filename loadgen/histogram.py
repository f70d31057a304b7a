"""Results of a load in memory that does not grow with it: histograms in place of samples."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped] # it ships no types

from loadgen.endings import Ending, Endings
from loadgen.samples import Row, Unfinished

if TYPE_CHECKING:
    from loadgen.report import RunReport

LOWEST_US, HIGHEST_US = 1, 3600 * 10**6
DIGITS = 3


class LatencyHistogram:
    """Latencies of any number of requests, each right to three digits.

    HDR histograms (Tene): counts over buckets of a constant relative width, from 1 us to an hour;
    what is longer is counted as an hour. Percentiles are nearest-rank over the buckets.
    """

    def __init__(self) -> None:
        self._histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
        self.longest_s = 0.0
        self._total_s = 0.0

    def __len__(self) -> int:
        return int(self._histogram.get_total_count())

    def add(self, latency_s: float) -> None:
        """Count one latency, >= 0."""
        self._histogram.record_value(min(max(round(latency_s * 1e6), LOWEST_US), HIGHEST_US))
        self._total_s += latency_s
        self.longest_s = max(self.longest_s, latency_s)

    def merge(self, other: "LatencyHistogram") -> None:
        """Count all that *other* has counted."""
        self._histogram.add(other._histogram)  # noqa: SLF001 - the same class
        self._total_s += other._total_s  # noqa: SLF001 - as above
        self.longest_s = max(self.longest_s, other.longest_s)

    def percentile_s(self, share: float) -> float | None:
        """Return a percentile in seconds; None where there are too few for it, as in samples."""
        n = len(self)
        if n < math.ceil(round(1 / (1 - share), 6)):
            return None
        rank = math.ceil(round(share * n, 6))  # the library would round it to the nearest
        return float(self._histogram.get_value_at_percentile(100 * rank / n)) / 1e6

    def mean_s(self) -> float:
        """Return the mean in seconds, exact.

        Raises:
            ValueError: nothing was counted.
        """
        if not len(self):
            raise ValueError("no latency was counted: there is no mean")
        return self._total_s / len(self)


class Histograms:
    """Results by class, for `run_load(..., into=Histograms(...))`.

    Attributes:
        by_outcome: latencies of each class, `error` too, once one has been seen.
        report: what the generator saw of itself.
        last_s: when the last request ended, in seconds since the load began.
        unfinished: how many requests had not ended when the load was stopped.
    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self.endings = Endings()
        self.report: RunReport | None = None
        self.by_outcome = {name: LatencyHistogram() for name in classes}
        self.last_s = 0.0
        self.unfinished = 0
        self._counts: list[int] = []
        self._histograms: list[LatencyHistogram] = []  # by the code of the ending

    def record(self, rows: Iterable[Row]) -> None:
        """Count results."""
        for due_s, _, _, finished_s, code, _ in rows:
            if code >= len(self._counts):
                self._learn_endings()
            self._counts[code] += 1
            self._histograms[code].add(finished_s)
            self.last_s = max(self.last_s, due_s + finished_s)

    def leave(self, unfinished: Iterable[Unfinished]) -> None:
        """Count what was stopped before its end."""
        self.unfinished += sum(1 for _ in unfinished)

    def __len__(self) -> int:
        return sum(self._counts)

    def count_endings(self) -> Counter[Ending]:
        """Return how many requests ended in each way: exact."""
        pairs = zip(self.endings, self._counts, strict=False)
        return Counter({ending: count for ending, count in pairs if count})

    def merge(self, other: "Histograms") -> None:
        """Count all that *other* has counted."""
        for ending, count in other.count_endings().items():
            code = self.endings.code(ending)
            self._learn_endings()
            self._counts[code] += count
        for name, histogram in other.by_outcome.items():
            self.by_outcome.setdefault(name, LatencyHistogram()).merge(histogram)
        self.last_s = max(self.last_s, other.last_s)
        self.unfinished += other.unfinished

    def _learn_endings(self) -> None:
        for ending in list(self.endings)[len(self._counts) :]:
            self._counts.append(0)
            self._histograms.append(self.by_outcome.setdefault(ending.outcome, LatencyHistogram()))
