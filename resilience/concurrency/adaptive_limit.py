"""How many calls a source bears at once: a limit found by additive increase, multiplicative cut.

The arithmetic alone: no clock, no tasks.
"""

import math
from dataclasses import dataclass
from statistics import median

from resilience.checks.ranges import DAY_S, outside, refuse
from resilience.events import LimitReason

_MAX_LIMIT = 100_000
_FEWEST_RESULTS = 20
_OVERLOADED_SHARE = 0.1
_FASTER = 0.8
_CLOCK_STEP_S = 0.001  # of uvloop: an answer within it takes 0 s, and any other is slower


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSettings:
    """A concurrency limit that follows the source; the ranges include their ends.

    Attributes:
        initial_limit: Calls at once to begin with, `min_limit`..`max_limit`; 20 is more than a
            quiet caller needs and little enough for a small server.
        min_limit: Never fewer calls at once, 1..100,000; 1 keeps measuring going.
        max_limit: Never more, up to 100,000. 200 bounds the harm if the source shows overload in
            none of the ways that are looked for.
        backoff_ratio: What is left of the limit after a round that was too much, 0.5..0.99; 0.9
            gives little throughput away, as the next round may cut again.
        latency_tolerance: How many times the unloaded median latency is too slow, 1.2..10. At 2 a
            call spends half of its time in a queue; nearer to 1, chance alone would cut.
        probe_every_s: How often the unloaded latency is measured anew, in seconds, 1 s..24 h. A
            probe costs a saturated source about one round at half its throughput, see
            `AimdLimit`; after 30 s a source that is slower or faster for good is known as such.
        max_queue: Calls that may wait for a slot, >= 0; the next is refused. 1,000, as of a
            bulkhead.
        max_wait_s: A call that has waited so long gives up, in seconds, 10 ms..24 h; 30 s, as of
            a bulkhead.

    Raises:
        ValueError: A value is out of range, or the limits are not in order.
        TypeError: A value is of the wrong kind.
    """

    initial_limit: int = 20
    min_limit: int = 1
    max_limit: int = 200
    backoff_ratio: float = 0.9
    latency_tolerance: float = 2.0
    probe_every_s: float = 30.0
    max_queue: int = 1_000
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        refuse(
            outside("min_limit", self.min_limit, 1, _MAX_LIMIT, "1 is usual", whole=True),
            outside("max_limit", self.max_limit, 1, _MAX_LIMIT, "200 is usual", whole=True),
            outside("initial_limit", self.initial_limit, 1, _MAX_LIMIT, "20 is usual", whole=True),
            self._complaint_about_order(),
            outside("backoff_ratio", self.backoff_ratio, 0.5, 0.99, "0.9 cuts a tenth"),
            outside("latency_tolerance", self.latency_tolerance, 1.2, 10, "2 is usual"),
            outside("probe_every_s", self.probe_every_s, 1, DAY_S, "it is in seconds"),
            outside(
                "max_queue",
                self.max_queue,
                0,
                1_000_000_000,
                "0 refuses whoever has to wait",
                whole=True,
            ),
            outside("max_wait_s", self.max_wait_s, 0.01, DAY_S, "it is in seconds"),
        )

    def _complaint_about_order(self) -> str | None:
        if self.min_limit <= self.initial_limit <= self.max_limit:
            return None
        return (
            "min_limit, initial_limit and max_limit must be in this order, got "
            f"{self.min_limit!r}, {self.initial_limit!r} and {self.max_limit!r}"
        )


class AimdLimit:
    """Moves a limit by the results of rounds of calls.

    A round is at least 20 results, or as many as may run at once, of calls that began after the
    round did, so that each judges the limit that it ran under. A round was too much if a tenth
    of it was overloaded, or if its median latency is beyond `latency_tolerance` times that of the
    unloaded source: the limit is then multiplied by `backoff_ratio`. Otherwise, if the limit was
    reached, it grows by one; a caller who does not use it learns nothing of it.

    The unloaded latency is measured by a probe, at first and then every `probe_every_s`: rounds
    with half of the slots, a quarter and so on, until fewer slots make the calls no faster by a
    fifth; then the limit holds again. In the steady state that is two rounds. At the default
    tolerance the first of them takes no throughput: by Little's law, twice the unloaded latency
    means twice as many calls as the source works on, so half of them keep it busy without a queue.

    Medians on both sides, because the fastest call and the slowest say more about chance.

    Attributes:
        round: Number of the round under way.
        slots: How many calls may run now: the limit, or less during a probe.
    """

    def __init__(self, settings: AdaptiveSettings) -> None:
        self._settings = settings
        self._limit = float(settings.initial_limit)
        self._unloaded_s: float | None = None
        self._probe_due_s = 0.0
        self.round = 0
        self._overloaded = 0
        self._latencies_s: list[float] = []
        self._reached = False
        self._begin_probe()
        self._set_slots()

    @property
    def limit(self) -> int:
        """Return the limit found so far."""
        return int(self._limit)

    @property
    def unloaded_s(self) -> float | None:
        """Return the median latency of the unloaded source in seconds; None before it is known."""
        return self._unloaded_s

    def record(
        self, round_: int, latency_s: float | None, running: int, now_s: float
    ) -> LimitReason | None:
        """Count a result; return why the limit moved if it did.

        Args:
            round_: What `round` was when the call began.
            latency_s: How long a good answer took, in seconds; None if the source was overloaded.
            running: How many calls ran, this one included.
            now_s: Monotonic seconds.
        """
        if round_ != self.round:
            return None
        if running >= self.slots:
            self._reached = True
        if latency_s is None:
            self._overloaded += 1
        else:
            self._latencies_s.append(latency_s)
        if self._overloaded + len(self._latencies_s) < self._enough:
            return None
        return self._conclude(now_s)

    @property
    def _probing(self) -> bool:
        return self._share < 1

    def _set_slots(self) -> None:
        self.slots = max(self._settings.min_limit, int(self._limit * self._share))
        self._enough = max(_FEWEST_RESULTS, self.slots)

    def _begin_probe(self) -> None:
        self._share = 0.5
        self._fastest_s = math.inf

    def _go_on_probing(self, now_s: float) -> None:
        latency_s = median(self._latencies_s) if self._latencies_s else math.inf
        faster = latency_s < _FASTER * self._fastest_s
        self._fastest_s = min(latency_s, self._fastest_s)
        if faster and self.slots > self._settings.min_limit:
            self._share /= 2
            return
        self._share = 1.0
        self._probe_due_s = now_s + self._settings.probe_every_s
        if math.isfinite(self._fastest_s):
            self._unloaded_s = max(self._fastest_s, _CLOCK_STEP_S)

    def _begin_round(self) -> None:
        self.round += 1
        self._reached = False
        self._overloaded = 0
        self._latencies_s = []

    def _conclude(self, now_s: float) -> LimitReason | None:
        before = self.limit
        reason = self._verdict()
        if reason is LimitReason.GREW:
            self._limit = min(self._limit + 1, self._settings.max_limit)
        elif reason is not None:
            cut = self._limit * self._settings.backoff_ratio
            self._limit = max(cut, float(self._settings.min_limit))
        if self._probing:
            self._go_on_probing(now_s)
        elif now_s >= self._probe_due_s:
            self._begin_probe()
        self._begin_round()
        self._set_slots()
        return reason if self.limit != before else None

    def _verdict(self) -> LimitReason | None:
        results = self._overloaded + len(self._latencies_s)
        if self._overloaded >= _OVERLOADED_SHARE * results:
            return LimitReason.OVERLOADED
        if self._probing:
            return None
        if self._is_slow():
            return LimitReason.SLOW
        return LimitReason.GREW if self._reached else None

    def _is_slow(self) -> bool:
        if self._unloaded_s is None:
            return False
        return median(self._latencies_s) > self._settings.latency_tolerance * self._unloaded_s
