"""How many calls a source bears at once: a limit that follows the gradient of its latency.

The arithmetic alone: no clock, no tasks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from resilience.concurrency.adaptive_settings import AdaptiveSettings
from resilience.concurrency.unloaded_source import UnloadedSource
from resilience.events import LimitReason

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


class GradientLimit:
    """Moves a limit by the mean latency of rounds of calls, held against the unloaded source.

    A round is at least 20 results, or as many as may run at once. After it the limit goes half
    way to `limit * gradient + 1.5 * sqrt(limit)`, where the gradient is `latency_tolerance` times
    the unloaded latency over that of the round, at most 1. It comes to rest with about
    `1.5 * sqrt(limit)` calls of its own in the source's queue, so callers who share a source come
    to similar limits. It grows only if it was reached: who does not use it learns nothing of it.

    A round of which the source answered fewer than 0.8 of the share that it answers unloaded
    multiplies the limit by 0.9 instead. What it refuses at any load, as a source of which a tenth
    is broken, does not count.

    The unloaded source is found by probes: a quarter of the slots, until the calls that began
    with more of them are through, and then for 20 results at least. A quarter of a limit that is
    far too high still finds a queue, but a shorter one each time. Probes begin at multiples of
    `probe_every_s` on the wall clock and last for a second or four latencies, so that all who
    call the source leave it alone together: whoever probed alone would find the others' queue and
    take it for the source, each time a longer one. A new limit probes at once, and once more when
    a round first is slow, with an eighth and for 40 results. A source that takes longer than a
    40th of `probe_every_s` is probed every second time, or fourth and so on.

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
        """Count a result; return whether it is time to `conclude`.

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
        """Move every moment that it remembers by so many seconds: the clock has moved so."""
        self._probe_at_s += by_s
        self._probed_at_s += by_s

    def conclude(self, running: int, now_s: float, shared_s: float) -> LimitReason | None:
        """Draw a conclusion from what was recorded; return why the limit moved if it did.

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
    """When a conclusion is drawn; see `GradientLimit.conclude`."""

    running: int
    now_s: float
    shared_s: float
