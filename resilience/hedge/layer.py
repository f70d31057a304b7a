"""The layer that does not wait for a slow attempt alone.

When an attempt has not been answered after a delay, a second one, the hedge, is sent beside it;
the first good answer wins. That buys a shorter tail for a few more requests, where slowness is an
attempt's bad luck (a slow replica, a lost packet) and not the state of the whole source.

Source: J. Dean, L. A. Barroso, "The Tail at Scale", CACM 56(2), 2013.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Collection, Iterator
from dataclasses import dataclass

import httpx

from resilience.call import SAFE_METHODS, Call, Layer
from resilience.checks.kinds import expect, expect_several
from resilience.checks.ranges import DAY_S, outside, refuse
from resilience.checks.sendable import check_method
from resilience.events import HedgeEnded, HedgeResult, HedgeStarted
from resilience.hedge.race import Race, RaceRules
from resilience.hedge.recent_latencies import RecentLatencies
from resilience.outcome import is_transient_status
from resilience.statistics import Counts
from resilience.subscribers import Subscribers
from resilience.timing.deadlines import Deadlines

_METHODS = 'write them like {"GET", "PUT"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class HedgeSettings:
    """When an attempt gets company; the ranges include their ends.

    Attributes:
        delay_s: How long an attempt that has been sent is waited for before a hedge, in seconds,
            0..24 h; None learns it from `percentile`, which follows a source that becomes slower
            as a whole instead of doubling its load.
        percentile: Of the latest latencies, in percent, 50..99; the delay learnt is rounded up to
            three digits. At 95 a healthy source gets about one request in twenty twice. Until
            enough latencies are known nothing is hedged.
        min_delay_s: Shortest learnt delay in seconds, 0..24 h; 10 ms, because against a source
            that answers faster a hedge costs more than it saves.
        max_hedges: Hedges an attempt, 1..10, each `delay_s` after the one before was sent.
        methods: Which requests get company, upper case. By default those that only ask: GET,
            HEAD, OPTIONS, TRACE and QUERY. Others may be named where the source answers a copy as
            it answers the first. Most do not: of two DELETEs the second is answered 404, of two
            PUTs with If-Match or If-None-Match 412, of two POSTs with one Idempotency-Key 409,
            and that answer would win; without a key there would be two orders.

    Raises:
        ValueError: A value is out of range, or a method is none.
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

    An idempotency key adds no method to them: it lets a server know a repetition, but a copy that
    arrives while the first request is under way is answered with 409, and that answer would win.

    The first attempt runs in the caller's task, each hedge in one of its own, in a copy of the
    call's context, through every layer further in. Whoever gives a good answer first (one that is
    no transient failure) wins; the others are cancelled and waited for before it is returned, also
    when the caller cancels.

    Hedges are for slowness, retries for failure: a first attempt that fails before its hedge is
    due ends the matter, and no hedge is sent. One that fails transiently while hedges are under
    way waits for them; if none does well, its own failure is returned or raised. A hedge that
    fails, or is refused further in, leaves the others alone.

    Delays and latencies count from when an attempt is sent. What it waits for before, a slot or a
    token, a hedge would wait for too, in the same queue but behind it. A cancelled attempt counts
    with the time since it was sent if that is beyond the delay in force, lest hedging make the
    source look fast.

    Source: draft-ietf-httpapi-idempotency-key-header-07, on concurrent requests.
    """

    def __init__(
        self,
        settings: HedgeSettings,
        inner: Layer,
        *,
        subscribers: Subscribers,
        counts: Counts,
        latencies: RecentLatencies | None = None,
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
            on_end=self._tell_ends,
        )
        self._delay_s = settings.delay_s
        self._methods = settings.methods
        # By their distance: learnt delays of three digits are not many.
        self._due: defaultdict[float, Deadlines] = defaultdict(Deadlines)

    @property
    def delay_s(self) -> float | None:
        """Return the delay before a hedge in seconds; None while it is not known yet."""
        if self._delay_s is not None:
            return self._delay_s
        learnt_s = self._latencies.percentile_s()
        if learnt_s is None:
            return None
        return max(three_digits_above(learnt_s), self._settings.min_delay_s)

    def __call__(self, call: Call) -> Awaitable[httpx.Response]:
        """Return the first good answer, or what the first attempt ended in."""
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
        self._subscribers.tell_of(call, HedgeStarted, hedge=hedge)

    def _tell_ends(self, call: Call, results: Iterator[HedgeResult]) -> None:
        for hedge, result in enumerate(results, start=1):
            self._subscribers.tell_of(call, HedgeEnded, hedge=hedge, result=result)


def three_digits_above(value: float) -> float:
    """Return the next number of three significant digits above *value*, which is above 0.

    Above it, so that of many equal latencies none is beyond their percentile.
    """
    if value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return (math.floor(value / unit * (1 + 1e-9)) + 1) * unit
