"""The layer that sends a second attempt beside a slow one.

When an attempt has had no response after a delay, a second one, the hedge, is sent beside it; the
first good response wins. That shortens the tail for a few more requests, where slowness is a matter
of one attempt (a slow replica, a lost packet) and not the state of the whole source.

Source: J. Dean, L. A. Barroso, "The Tail at Scale", CACM 56(2), 2013.
"""

import asyncio
import math
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Awaitable, Collection, Iterator
from dataclasses import dataclass

import httpx

from resilience._internal.checks import DAY_S, expect, expect_several, outside, refuse
from resilience._internal.outcome import is_transient_status
from resilience._internal.race import Race, RaceRules
from resilience._internal.timing import Deadlines
from resilience._internal.wire.sendable import check_method
from resilience.call import SAFE_METHODS, Call, Layer
from resilience.events import HedgeEnded, HedgeResult, HedgeStarted, Subscribers
from resilience.statistics import Counts

_METHODS = 'write them like {"GET", "PUT"}'
_FEWEST_LATENCIES = 20
_TIMES_KEPT = 10  # as many as are needed


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeSettings:
    """When an attempt is hedged; the ranges include their ends.

    Attributes:
        delay_s: Time from the sending of an attempt to its hedge, in seconds, 0..24 h; None learns
            it from `percentile`, which follows a source that becomes slower as a whole instead of
            doubling its load.
        percentile: Of the latest latencies, in percent, 50..99; the delay learnt is rounded up to
            three digits. At 95 a healthy source gets about one request in twenty twice. Until
            enough latencies are known nothing is hedged.
        min_delay_s: Shortest learnt delay in seconds, 0..24 h; 10 ms, because against a source
            that answers faster a hedge costs more than it saves.
        max_hedges: Hedges per attempt, 1..10, each `delay_s` after the one before was sent.
        methods: Which requests are hedged, upper case. By default the safe ones: GET,
            HEAD, OPTIONS, TRACE and QUERY. Others may be named where the source responds to a copy
            as to the first. Most do not: of two DELETEs the second gets 404, of two PUTs with
            If-Match or If-None-Match 412, of two POSTs with one Idempotency-Key 409, and that
            response might win; without a key there would be two orders.

    Raises:
        ValueError: A value is out of range, or a method is not one of HTTP.
        TypeError: A value is of the wrong kind.
    """

    delay_s: float | None = None
    percentile: float = 95.0
    min_delay_s: float = 0.01
    max_hedges: int = 1
    methods: Collection[str] = SAFE_METHODS

    def __post_init__(self) -> None:
        expect_several("methods", self.methods, _METHODS)
        for method in self.methods:
            expect("one of methods", method, str, _METHODS)
            check_method(method)
        lower = [method for method in self.methods if method != method.upper()]
        refuse(
            outside("delay_s", self.delay_s, 0, DAY_S, "it is in seconds", optional=True),
            outside("percentile", self.percentile, 50, 99, "95 is usual"),
            outside("min_delay_s", self.min_delay_s, 0, DAY_S, "it is in seconds"),
            outside("max_hedges", self.max_hedges, 1, 10, "use hedge=None for none", whole=True),
            None if self.methods else "methods must not be empty; use hedge=None for none",
            f"methods are in upper case, got {lower[0]!r}" if lower else None,
        )
        object.__setattr__(self, "methods", frozenset(self.methods))


class HedgeLayer:
    """Sends hedges against slow attempts of calls whose method is one of those in the settings.

    An idempotency key adds no method to them: it lets a server recognise a repetition, but a copy
    that arrives while the first request is under way gets 409, and that response would win.

    The first attempt runs in the caller's task, each hedge in one of its own, in a copy of the
    call's context, through every layer further in. The first good response (one that is
    not a transient failure) wins; the others are cancelled and awaited before it is returned, also
    when the caller cancels.

    Hedges are for slowness, retries for failure: a first attempt that fails before its hedge is
    due is final, and no hedge is sent. One that fails transiently while hedges are under
    way waits for them; if none succeeds, its own failure is returned or raised. A hedge that
    fails, or is refused further in, leaves the others alone.

    Delays and latencies count from when an attempt is sent. While it waits for a slot or a token it
    is not hedged: a hedge would wait in the same queue, behind it. A cancelled attempt counts
    with the time since it was sent if that is beyond the delay in force, so that hedging does not
    make the source look fast.

    Source: draft-ietf-httpapi-idempotency-key-header-07, on concurrent requests.
    """

    def __init__(
        self,
        settings: HedgeSettings,
        inner: Layer,
        *,
        subscribers: Subscribers,
        counts: Counts,
        latencies: "RecentLatencies | None" = None,
    ) -> None:
        self._settings = settings
        self._inner = inner
        self._subscribers = subscribers
        self._counts = counts
        self._latencies = latencies or RecentLatencies(settings.percentile)
        self._attempt = self._inner if settings.delay_s is not None else self._timed
        self._rules = RaceRules(
            attempt=self._attempt,
            max_hedges=settings.max_hedges,
            on_start=self._hedge_started,
            on_end=self._notify_ends,
        )
        self._delay_s = settings.delay_s
        self._methods = settings.methods
        # By their distance: learnt delays of three digits are not many.
        self._due: defaultdict[float, Deadlines] = defaultdict(Deadlines)

    @property
    def delay_s(self) -> float | None:
        """Return the delay before a hedge in seconds; None while it is not known."""
        if self._delay_s is not None:
            return self._delay_s
        learnt_s = self._latencies.percentile_s()
        if learnt_s is None:
            return None
        return max(three_digits_above(learnt_s), self._settings.min_delay_s)

    def __call__(self, call: Call) -> Awaitable[httpx.Response]:
        """Return the first good response, or the result of the first attempt."""
        if call.method not in self._methods:
            return self._inner(call)
        delay_s = self._delay_s if self._delay_s is not None else self.delay_s
        if delay_s is None:
            return self._attempt(call)
        return Race(self._rules, call, delay_s, self._due[delay_s]).run()

    async def _timed(self, call: Call) -> httpx.Response:
        loop = asyncio.get_running_loop()
        call.sent_at_s = loop.time()
        try:
            response = await self._inner(call)
        except asyncio.CancelledError:
            ran_s, delay_s = loop.time() - call.sent_at_s, self.delay_s
            if delay_s is not None and ran_s >= delay_s:
                self._latencies.add(ran_s)
            raise
        if not is_transient_status(response.status_code):
            self._latencies.add(loop.time() - call.sent_at_s)
        return response

    def _hedge_started(self, call: Call, hedge: int) -> None:
        self._counts.hedges += 1
        self._subscribers.notify_of(call, HedgeStarted, hedge=hedge)

    def _notify_ends(self, call: Call, results: Iterator[HedgeResult]) -> None:
        for hedge, result in enumerate(results, start=1):
            self._subscribers.notify_of(call, HedgeEnded, hedge=hedge, result=result)


def three_digits_above(value: float) -> float:
    """Return the next number of three significant digits above *value*, which is above 0.

    Above it, so that of many equal latencies none is beyond their percentile.
    """
    if value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return (math.floor(value / unit * (1 + 1e-9)) + 1) * unit


class RecentLatencies:
    """The nearest-rank percentile of the latest latencies.

    It is known once the sample is large enough: 20 latencies, and 100/(100 - percentile), so that
    at least one of them may lie above. Ten times as many are kept. Adding costs a binary
    search, reading nothing.

    Args:
        percentile: In percent, above 0 and below 100.
    """

    def __init__(self, percentile: float) -> None:
        self._share = percentile / 100
        self._enough = max(_FEWEST_LATENCIES, math.ceil(100 / (100 - percentile) - 1e-9))
        self._in_order: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, latency_s: float) -> None:
        """Add the latency of a response in seconds; the oldest one is dropped for it."""
        if len(self._in_order) == self._enough * _TIMES_KEPT:
            oldest_s = self._in_order.popleft()
            del self._sorted[bisect_left(self._sorted, oldest_s)]
        self._in_order.append(latency_s)
        insort(self._sorted, latency_s)

    def percentile_s(self) -> float | None:
        """Return the percentile in seconds; None while there are too few latencies."""
        count = len(self._sorted)
        if count < self._enough:
            return None
        return self._sorted[math.ceil(self._share * count - 1e-9) - 1]
