"""How often a source may be called: a token bucket for coroutines, first come first served."""

import asyncio
import math
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypedDict, Unpack

from resilience._internal.checks import DAY_S, complaint_about_queue, expect, outside, refuse
from resilience._internal.timing import ROUNDING_S, loop_time_s
from resilience._internal.waiter_queue import WaiterQueue
from resilience.errors import RateLimited

_MIN_PERMITS, _MAX_PERMITS = 1e-6, 1_000_000
_NO_LIMIT = "use rate_limit=None for no limit"


class Rest(TypedDict, total=False):
    """What `per_second` and `per_minute` take beside the rate; the defaults are the class's."""

    burst: int | None
    max_queue: int
    max_wait_s: float
    max_pause_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `burst` requests at once, and `permits` every `period_s` seconds in the long run.

    `per_second` and `per_minute` build it. In any window of t seconds at most
    burst + permits/period_s·t requests are sent: against a server that counts by fixed windows,
    choose a burst smaller than `permits` to leave room for it.

    Attributes:
        permits: Requests per period, 0.000,001..1,000,000; a fraction is allowed.
        period_s: Length of the period in seconds, 1 ms..24 h.
        burst: Requests that may be saved up, 1..1,000,000; None means `permits`, at least 1, so
            that a caller who was quiet for a period may use that period's permits at once.
        max_queue: Calls that may wait for a token, >= 0; the next is refused. The default of
            1,000 bounds memory and seldom refuses a call.
        max_wait_s: Longest wait for a token in seconds, 0..24 h; a call that would wait longer is
            refused at once. The default of 30 s is how long people and proxies commonly wait for
            the whole reply.
        max_pause_s: A 429 stops the source for as long as its Retry-After asks, but no longer
            than this, in seconds, 0..24 h; the default of 60 s keeps a hostile or mistaken
            server from silencing its client for good.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    permits: float
    period_s: float
    burst: int | None = None
    max_queue: int = 1_000
    max_wait_s: float = 30.0
    max_pause_s: float = 60.0

    def __post_init__(self) -> None:
        refuse(
            outside("permits", self.permits, _MIN_PERMITS, _MAX_PERMITS, _NO_LIMIT),
            outside("period_s", self.period_s, 0.001, DAY_S, "it is in seconds"),
            outside(
                "burst",
                self.burst,
                1,
                _MAX_PERMITS,
                "1 spaces all requests evenly",
                whole=True,
                optional=True,
            ),
            complaint_about_queue(self.max_queue),
            outside("max_wait_s", self.max_wait_s, 0, DAY_S, "it is in seconds"),
            outside("max_pause_s", self.max_pause_s, 0, DAY_S, "it is in seconds"),
        )

    @classmethod
    def per_second(cls, permits: float, **rest: Unpack[Rest]) -> Self:
        """Return the limit of `permits` per second; see the class for the rest."""
        return cls(permits=permits, period_s=1.0, **rest)

    @classmethod
    def per_minute(cls, permits: float, **rest: Unpack[Rest]) -> Self:
        """Return the limit of `permits` per minute; see the class for the rest."""
        return cls(permits=permits, period_s=60.0, **rest)

    @property
    def interval_s(self) -> float:
        """Return the seconds between two tokens."""
        return self.period_s / self.permits

    @property
    def capacity(self) -> int:
        """Return how many tokens the bucket holds."""
        return self.burst if self.burst is not None else max(1, int(self.permits))


class TokenBucket:
    """Spaces requests so that no window of t seconds sees more than burst + rate·t of them.

    It starts full. `acquire` is all that a caller needs; `async with bucket:` calls it, and leaves
    nothing to give back. A pipeline takes the same steps one by one, because a call waits for a
    slot between its place in the queue and its token:

        try_take_at_once()  take a token that is there, if no one waits
        enter()             take a place in the queue, or be refused
        try_take(), take()  swap the place for a token, at once or in turn; leave() gives it up
        give_back()         return a token that was not spent

    The whole state is the time at which the bucket will be full: each token taken moves it by one
    interval into the future. Every method takes constant time, and one timer serves the queue.

    Not thread-safe: use it from one event loop at a time.

    Args:
        limit: The rules.
        name: Of the source, for errors.

    Source: the generic cell rate algorithm (ITU-T I.371), in its virtual scheduling form.
    """

    def __init__(self, limit: RateLimit, *, name: str) -> None:
        expect("limit", limit, RateLimit, "make it RateLimit(...)")
        self.name = name
        self._limit = limit
        self._interval_s = limit.interval_s
        self._depth_s = (limit.capacity - 1) * limit.interval_s
        self._full_at_s = -math.inf
        self._paused_until_s = -math.inf
        self._entered = 0
        self._queue = WaiterQueue()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Return how many callers hold a place in the queue."""
        return self._entered

    async def acquire(self) -> float:
        """Take a token, in turn; return the seconds waited.

        Raises:
            RateLimited: The queue is full, or the wait would be or was too long.
        """
        self.enter()
        return 0.0 if self.try_take() else await self.take()

    def enter(self, deadline_s: float | None = None) -> None:
        """Take a place in the queue; follow with `take` or `leave`.

        Raises:
            RateLimited: The queue is full, or the wait would be longer than allowed, or it would
                reach `deadline_s`, the caller's own limit on the event loop's clock.
        """
        would_wait_s = self.would_wait_s()
        if would_wait_s > 0 and self._is_too_much(would_wait_s, deadline_s):
            raise RateLimited(self.name, would_wait_s, self._entered)
        self._entered += 1

    def leave(self) -> None:
        """Give a place in the queue up.

        Raises:
            RuntimeError: No place is held, apart from those of callers that wait in `take`.
        """
        self._expect_place()
        self._entered -= 1

    def would_wait_s(self) -> float:
        """Return how long the next caller would wait for its token, in seconds."""
        wait_s = self._ready_in_s(loop_time_s()) + self._entered * self._interval_s
        return wait_s if wait_s > ROUNDING_S else 0.0

    def try_take(self) -> bool:
        """Swap a place for a token if there is one now and no one waits.

        Raises:
            RuntimeError: See `leave`.
        """
        self._expect_place()
        now_s = loop_time_s()
        if self._queue or self._ready_in_s(now_s) > ROUNDING_S:
            return False
        self._spend(now_s)
        self._entered -= 1
        return True

    def try_take_at_once(self, now_s: float) -> bool:
        """Take a token without a place in the queue, if there is one now and no one waits.

        Args:
            now_s: The time on the event loop's clock.
        """
        if self._entered:
            return False
        full_at_s = self._full_at_s
        if full_at_s <= now_s:
            full_at_s = now_s  # the bucket is full, as for nearly every call
        elif self._ready_in_s(now_s) > ROUNDING_S:
            return False
        if self._paused_until_s - now_s > ROUNDING_S:
            return False
        self._full_at_s = full_at_s + self._interval_s
        return True

    async def take(self) -> float:
        """Swap a place for a token, in turn; return the seconds waited.

        Raises:
            RateLimited: It waited for `max_wait_s` without a token, because of a pause.
            RuntimeError: See `leave`.
        """
        self._expect_place()
        began_s = loop_time_s()
        deadline_s = began_s + self._limit.max_wait_s
        if self._timer is None:
            self._arm(min(began_s + self._ready_in_s(began_s), deadline_s))
        await self._queue.wait(self._on_cancelled, deadline_s)
        return loop_time_s() - began_s

    def give_back(self) -> None:
        """Return a token that was taken and not spent; the next caller gets it.

        The bucket cannot check that it was taken.
        """
        self._full_at_s -= self._interval_s
        if self._queue:
            self._serve()

    def pause(self, pause_s: float) -> float:
        """Send nothing for `pause_s` seconds, at most `max_pause_s`; return the seconds it will be.

        Pauses do not add up: the one that ends last counts. Saved tokens are dropped, so that the
        source is then called at its rate and not in a burst.
        """
        bounded_s = min(max(pause_s, 0.0), self._limit.max_pause_s)
        until_s = loop_time_s() + bounded_s
        if bounded_s and until_s > self._paused_until_s:
            self._paused_until_s = until_s
            self._full_at_s = max(self._full_at_s, until_s + self._depth_s)
        return bounded_s

    def shift_times(self, by_s: float) -> None:
        """Shift every remembered time by `by_s` seconds, as the clock has shifted."""
        self._full_at_s += by_s
        self._paused_until_s += by_s

    def refuse_all(self, error: Callable[[], Exception]) -> None:
        """Raise a separate error in each caller that waits for a token; none is spent."""
        self._entered -= self._queue.refuse_all(error)
        self._disarm()

    async def __aenter__(self) -> float:
        return await self.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """A token is spent, whatever became of the request."""

    def _expect_place(self) -> None:
        if self._entered <= len(self._queue):
            raise RuntimeError(
                f"no place in the queue of {self.name!r} is held; enter once for each take or "
                "leave, or acquire, which does both"
            )

    def _is_too_much(self, would_wait_s: float, deadline_s: float | None) -> bool:
        if self._entered >= self._limit.max_queue or would_wait_s > self._limit.max_wait_s:
            return True
        return deadline_s is not None and loop_time_s() + would_wait_s >= deadline_s

    def _serve(self) -> None:
        """Serve all callers whose token is there and refuse those that have waited too long."""
        self._disarm()
        now_s = loop_time_s()
        while self._queue:
            if self._ready_in_s(now_s) <= ROUNDING_S:
                if self._queue.serve():
                    self._spend(now_s)
                    self._entered -= 1
            elif self._queue.head_deadline_s <= now_s + ROUNDING_S:
                self._refuse_head(self._ready_in_s(now_s))
            else:
                self._arm(min(now_s + self._ready_in_s(now_s), self._queue.head_deadline_s))
                return

    def _refuse_head(self, would_wait_s: float) -> None:
        if self._queue.refuse(RateLimited(self.name, would_wait_s, self._entered)):
            self._entered -= 1

    def _arm(self, at_s: float) -> None:
        # An empty context: a waiting caller's would be kept alive by those that follow.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(at_s, self._serve, context=Context())

    def _disarm(self) -> None:
        """Stop the timer; it belongs to the event loop of the callers that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_cancelled(self, served: bool) -> None:
        if served:
            self.give_back()
            return
        self._entered -= 1
        if not self._queue:
            self._disarm()

    def _spend(self, now_s: float) -> None:
        full_at_s = max(now_s, self._full_at_s)
        self._full_at_s = full_at_s + self._interval_s

    def _ready_in_s(self, now_s: float) -> float:
        """Return when the next token comes; the more are saved up, the further below 0."""
        full_at_s = max(now_s, self._full_at_s)
        ready_at_s = full_at_s - self._depth_s
        return (max(self._paused_until_s, ready_at_s)) - now_s
