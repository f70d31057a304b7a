"""How many of the latest calls failed: a window that slides in ten steps."""

from collections import deque

_BUCKETS = 10
_SHORTEST_ROLLING_S = 0.2


class _Bucket:
    __slots__ = ("failures", "start_s", "successes")

    def __init__(self, start_s: float) -> None:
        self.start_s = start_s
        self.successes = 0
        self.failures = 0


class RollingWindow:
    """Counts of successes and failures over the last `sampling_s` seconds.

    A bucket is a tenth of the window. It opens at the first event (or reading) when the latest
    bucket is at least a tenth old, and is forgotten when its start is `sampling_s` old, so that
    the counts reach back between nine tenths of the window and all of it. Windows shorter than
    200 ms are one bucket. The clock is the caller's: `now_s` must not run backwards.

    Source: the rolling health metrics of Polly 8.
    """

    def __init__(self, sampling_s: float) -> None:
        self.buckets = _BUCKETS if sampling_s >= _SHORTEST_ROLLING_S else 1
        self._sampling_s = sampling_s
        self._bucket_s = sampling_s / self.buckets
        self._open: deque[_Bucket] = deque()

    def record_success(self, now_s: float) -> None:
        """Count a success at `now_s` seconds."""
        latest = self._open[-1] if self._open else None  # nearly always usable: saves a call
        if latest is None or now_s - latest.start_s >= self._bucket_s:
            latest = self._bucket_at(now_s)
        latest.successes += 1

    def record_failure(self, now_s: float) -> None:
        """Count a failure at `now_s` seconds."""
        self._bucket_at(now_s).failures += 1

    def counts(self, now_s: float) -> tuple[int, int]:
        """Return (throughput, failures) as seen at `now_s` seconds."""
        self._bucket_at(now_s)
        self._forget(now_s)
        failures = sum(bucket.failures for bucket in self._open)
        return failures + sum(bucket.successes for bucket in self._open), failures

    def reset(self) -> None:
        """Forget everything."""
        self._open.clear()

    def shift_times(self, by_s: float) -> None:
        """Shift all counts by `by_s` seconds, as the clock has shifted."""
        for bucket in self._open:
            bucket.start_s += by_s

    def _bucket_at(self, now_s: float) -> _Bucket:
        if self._open and now_s - self._open[-1].start_s < self._bucket_s:
            return self._open[-1]
        bucket = _Bucket(now_s)
        self._open.append(bucket)
        self._forget(now_s)
        return bucket

    def _forget(self, now_s: float) -> None:
        while now_s - self._open[0].start_s >= self._sampling_s:
            self._open.popleft()
