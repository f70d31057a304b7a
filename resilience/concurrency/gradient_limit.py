"""How many calls a source can bear at once: a limit that follows the gradient of its latency.

Only the arithmetic: no clock, no tasks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from resilience._internal.checks import DAY_S, complaint_about_queue, outside, refuse
from resilience.events import LimitReason

_MAX_LIMIT = 100_000
_FEWEST_RESULTS = 20
_HEADROOM = 1.5
_SMOOTHING = 0.5
_OVERLOADED_CUT = 0.9
_LEAST_ANSWERED = 0.8
_SLOW = 0.75
_PROBE_SHARE = 1 / 4
_SECOND_PROBE_SHARE = 1 / 8
_SECOND_PROBE_RESULTS = 40
_SHORTEST_PROBE_S = 1.0
_PROBE_LATENCIES = 4
_LATENCIES_FROM_PROBE_TO_PROBE = 40
_REMEMBERED_RESULTS = 100
_FIRST_PROBES = 3
_SAME_SOURCE = (2 / 3, 3 / 2)
_CLOCK_STEP_S = 0.001  # of uvloop: an answer within it takes 0 s, and any other is slower


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSettings:
    """A concurrency limit that follows the source; the ranges include their ends.

    Attributes:
        initial_limit: Calls at once to begin with, `min_limit`..`max_limit`; 20 is more than a
            quiet caller needs and little enough for a small server.
        min_limit: Never fewer calls at once, 1..100,000; 1 keeps measuring going.
        max_limit: Never more, up to 100,000. 200 bounds the harm if the source shows overload in
            none of the ways that are looked for. Where many processes call one source, give each
            twice its share of what the source can bear: only this bound holds if their clocks
            disagree, see `GradientLimit`.
        latency_tolerance: Up to how many times the unloaded mean latency counts as no queue, 1..10.
            1.1, as the unloaded latency is known to about a tenth; more allows longer queues.
        probe_every_s: How often the unloaded source is measured anew, in seconds, 1 s..24 h. A
            probe takes a second or four latencies at a quarter of the slots; every 20 s it costs
            a saturated source 3 % of its throughput, and one that is slower for good is known as
            such after that time. The same in all processes that call the source.
        max_queue: Calls that may wait for a slot, >= 0; the next is refused. 1,000, as for a
            bulkhead.
        max_wait_s: Longest wait for a slot in seconds, 10 ms..24 h; 30 s, as for a bulkhead.

    Raises:
        ValueError: A value is out of range, or the limits are not in order.
        TypeError: A value is of the wrong kind.
    """

    initial_limit: int = 20
    min_limit: int = 1
    max_limit: int = 200
    latency_tolerance: float = 1.1
    probe_every_s: float = 20.0
    max_queue: int = 1_000
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        refuse(
            outside("min_limit", self.min_limit, 1, _MAX_LIMIT, "1 is usual", whole=True),
            outside("max_limit", self.max_limit, 1, _MAX_LIMIT, "200 is usual", whole=True),
            outside("initial_limit", self.initial_limit, 1, _MAX_LIMIT, "20 is usual", whole=True),
            self._complaint_about_order(),
            outside("latency_tolerance", self.latency_tolerance, 1, 10, "1.1 is usual"),
            outside("probe_every_s", self.probe_every_s, 1, DAY_S, "it is in seconds"),
            complaint_about_queue(self.max_queue),
            outside("max_wait_s", self.max_wait_s, 0.01, DAY_S, "it is in seconds"),
        )

    def _complaint_about_order(self) -> str | None:
        if self.min_limit <= self.initial_limit <= self.max_limit:
            return None
        return (
            "min_limit, initial_limit and max_limit must be in this order, got "
            f"{self.min_limit!r}, {self.initial_limit!r} and {self.max_limit!r}; "
            "lower the first or raise the last"
        )


class GradientLimit:
    """Moves a limit by the mean latency of rounds of calls, compared with the unloaded source.

    A round is at least 20 results, or as many as may run at once. After it the limit goes half
    way to `limit * gradient + 1.5 * sqrt(limit)`, where the gradient is `latency_tolerance` times
    the unloaded latency over that of the round, at most 1. It comes to rest with about
    `1.5 * sqrt(limit)` calls of its own in the source's queue, so callers who share a source come
    to similar limits. It grows only if it was reached: a limit that is not used is not tested.

    A round of which the source answered fewer than 0.8 of the share that it answers unloaded
    multiplies the limit by 0.9 instead. What it refuses at any load, as a source of which a tenth
    is broken, does not count.

    The unloaded source is found by probes: a quarter of the slots, until the calls that began with
    more of them are through, and then for 20 results at least. A quarter of a limit that is far too
    high still finds a queue, but a shorter one each time. Probes begin at multiples of
    `probe_every_s` on the wall clock and last for a second or four latencies, so that all callers
    of the source leave it idle together: one that probed alone would find the others' queue and
    take its latency for the source's, each time a longer one. A new limit probes at once, and once
    more when a round first is slow, with an eighth and for 40 results. A source that takes longer
    than a 40th of `probe_every_s` is probed every second time, or fourth and so on.

    Callers whose clocks differ by more than half a second do not probe together, and nothing but
    `max_limit` bounds the sum of their limits. A source that has become slower for good is given
    few calls until the next probe. One that refuses most calls however few there are counts as
    overloaded.

    Sources: Netflix's concurrency-limits, `Gradient2Limit`, for means, growth and smoothing;
    Envoy's gradient controller for the square root, the probe, and not counting what began before
    it; Jin, Wei, Low, "FAST TCP", 2004, for where it comes to rest; Cardwell and others, "BBR",
    2016, for probing together; arXiv 1405.5364 for what comes of probing alone; Netflix's
    `AIMDLimit` for the cut.

    Attributes:
        slots: How many calls may run now: the limit, or less during a probe.
    """

    def __init__(self, settings: AdaptiveSettings) -> None:
        self._settings = settings
        self._limit = float(settings.initial_limit)
        self._unloaded = UnloadedSource()
        self._begin_probe(_Moment(0, 0.0, 0.0))

    @property
    def limit(self) -> int:
        """Return the limit found so far."""
        return int(self._limit)

    @property
    def unloaded_s(self) -> float | None:
        """Return the mean latency of the unloaded source in seconds; None before it is known."""
        return self._unloaded.latency_s

    def record(self, latency_s: float | None, running: int, now_s: float) -> bool:
        """Count a result; return whether it is time to `evaluate`.

        Args:
            latency_s: How long a good answer took, in seconds; None if the source was overloaded.
            running: How many calls ran, this one included.
            now_s: Monotonic seconds.
        """
        if latency_s is None:
            self._refused += 1
        else:
            self._answered += 1
            self._latencies_s += latency_s
        if running >= self.slots:
            self._reached = True
        self._awaited -= 1
        return self._awaited <= 0 or now_s >= self._probe_at_s

    def shift_times(self, by_s: float) -> None:
        """Shift every remembered time by `by_s` seconds, as the clock has shifted."""
        self._probe_at_s += by_s
        self._probed_at_s += by_s

    def evaluate(self, running: int, now_s: float, shared_s: float) -> LimitReason | None:
        """Evaluate what was recorded; return why the limit changed, None if it did not.

        Args:
            running: How many calls ran, the one just recorded included.
            now_s: Monotonic seconds.
            shared_s: Seconds on a clock that all who call the source share.
        """
        moment = _Moment(running, now_s, shared_s)
        if now_s < self._probe_at_s:
            return self._then(moment)
        unloaded_s = self._unloaded.latency_s or 0.0
        self._begin_probe(moment, max(_SHORTEST_PROBE_S, _PROBE_LATENCIES * unloaded_s))
        return None

    def _await(self, results: int, then: Callable[["_Moment"], LimitReason | None]) -> None:
        self._awaited = results
        self._then = then
        self._answered = self._refused = 0
        self._latencies_s = 0.0
        self._reached = False

    @property
    def _second_probe(self) -> bool:
        return self._unloaded.probes == 1

    def _begin_probe(self, moment: "_Moment", lasts_s: float = 0.0) -> None:
        share = _SECOND_PROBE_SHARE if self._second_probe else _PROBE_SHARE
        self.slots = max(self._settings.min_limit, int(self._limit * share))
        self._probe_at_s = math.inf
        self._probed_at_s = moment.now_s + lasts_s
        self._await(moment.running + self.slots, self._end_draining)

    def _end_draining(self, _moment: "_Moment") -> None:
        least = _SECOND_PROBE_RESULTS if self._second_probe else _FEWEST_RESULTS
        self._await(max(least, 2 * self.slots), self._end_probe)

    def _end_probe(self, moment: "_Moment") -> None:
        if moment.now_s < self._probed_at_s:
            return
        self._unloaded.learn(self._latencies_s, self._answered, self._refused)
        every_s = self._settings.probe_every_s
        while every_s < _LATENCIES_FROM_PROBE_TO_PROBE * (self._unloaded.latency_s or 0.0):
            every_s *= 2
        self._probe_at_s = moment.now_s + every_s - moment.shared_s % every_s
        self._begin_round(moment)

    def _begin_round(self, _moment: "_Moment") -> None:
        self.slots = self.limit
        self._await(max(_FEWEST_RESULTS, self.slots), self._end_round)

    def _end_round(self, moment: "_Moment") -> LimitReason | None:
        before, was = self.limit, self._limit
        gradient = self._gradient()
        overloaded = self._is_overloaded()
        wanted = _OVERLOADED_CUT * was if overloaded else self._wanted(gradient)
        self._limit = min(max(wanted, float(self._settings.min_limit)), self._settings.max_limit)
        self.slots = self.limit
        if self._second_probe and gradient < _SLOW:
            self._begin_probe(moment)
        elif wanted < was:
            self._await(moment.running, self._begin_round)
        else:
            self._begin_round(moment)
        if self.limit == before:
            return None
        if self.limit > before:
            return LimitReason.GREW
        return LimitReason.OVERLOADED if overloaded else LimitReason.SLOW

    def _gradient(self) -> float:
        return self._unloaded.gradient(
            self._latencies_s, self._answered, self._settings.latency_tolerance
        )

    def _is_overloaded(self) -> bool:
        least = _LEAST_ANSWERED * self._unloaded.answered_share
        return self._answered < least * (self._answered + self._refused)

    def _wanted(self, gradient: float) -> float:
        bearable = self._limit * gradient + _HEADROOM * math.sqrt(self._limit)
        if bearable > self._limit and not self._reached:
            return self._limit
        return self._limit + _SMOOTHING * (bearable - self._limit)


class _Moment(NamedTuple):
    """When results are evaluated; see `GradientLimit.evaluate`."""

    running: int
    now_s: float
    shared_s: float


class UnloadedSource:
    """The mean latency of the unloaded source, and the share of calls that it does not refuse.

    Each is a mean over the latest 100 results of probes, or over the latest probe if it has more:
    a probe of 20 is mostly random. A probe that finds a mean latency half as long again, or two
    thirds, has met a changed source, and what was known is forgotten. So is what each
    of the first three found, at the next: they may have been sent with too many calls, or while
    others loaded the source, and the first misses each response that takes longer than it lasts.

    Attributes:
        latency_s: In seconds; None before it is known.
        answered_share: Of calls that are not refused, 0.5..1.
        probes: That have ended.
    """

    def __init__(self) -> None:
        self.latency_s: float | None = None
        self.answered_share = 1.0
        self.probes = 0
        self._remembered = 0

    def learn(self, latencies_s: float, answered: int, refused: int) -> None:
        """Count a probe.

        One in which most calls were refused is ignored: other callers overload the source.

        Args:
            latencies_s: Sum over the answers, in seconds.
            answered: Good answers.
            refused: Calls that the source refused for load.
        """
        self.probes += 1
        if answered <= refused:
            return
        latency_s = max(latencies_s / answered, _CLOCK_STEP_S)
        known_s = latency_s if self.latency_s is None else self.latency_s
        least, most = _SAME_SOURCE
        if self.probes <= _FIRST_PROBES or not least * known_s < latency_s < most * known_s:
            self._remembered = 0
        self._remembered = max(answered, min(self._remembered + answered, _REMEMBERED_RESULTS))
        weight = answered / self._remembered
        self.latency_s = known_s + weight * (latency_s - known_s)
        share = answered / (answered + refused)
        self.answered_share += weight * (share - self.answered_share)

    def gradient(self, latencies_s: float, answered: int, tolerance: float) -> float:
        """Return how near the mean latency is to that of the unloaded source, 0..1.

        Args:
            latencies_s: Sum over the answers, in seconds.
            answered: Good answers.
            tolerance: How many times the unloaded latency is still near.
        """
        if not answered:
            return 1.0
        latency_s = max(latencies_s / answered, _CLOCK_STEP_S)
        if self.latency_s is None:
            self.latency_s = latency_s
        return min(1.0, tolerance * self.latency_s / latency_s)
