"""A token bucket for coroutines: continuous refill, first come first served."""

import asyncio
import math
from collections.abc import Callable
from contextvars import Context
from types import TracebackType

from resilience.checks.kinds import expect
from resilience.errors import RateLimited
from resilience.rate_limit.settings import RateLimit
from resilience.timing.clock import ROUNDING_S, loop_time_s
from resilience.waiting_line import WaitingLine


class TokenBucket:
    """Spaces requests so that no window of t seconds sees more than burst + rate·t of them.

    It starts full. `acquire` is all that a caller needs; `async with bucket:` calls it, and leaves
    nothing to give back. A pipeline takes the same steps one by one, because a call waits for a
    slot between its place in the line and its token:

        try_take_at_once()  take a token that is there, if nobody is before
        enter()             take a place in the line, or be refused
        try_take(), take()  swap the place for a token, at once or in turn; leave() gives it up
        give_back()         return a token that was not spent

    The whole state is the time at which the bucket will be full: each token taken moves it by one
    interval into the future. No call costs more than constant time, and one timer serves the line.

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
        self._line = WaitingLine()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Return how many callers hold a place in the line."""
        return self._entered

    async def acquire(self) -> float:
        """Take a token, in turn; return the seconds waited.

        Raises:
            RateLimited: The line is full, or the wait would be or was too long.
        """
        self.enter()
        return 0.0 if self.try_take() else await self.take()

    def enter(self, deadline_s: float | None = None) -> None:
        """Take a place in the line; follow with `take` or `leave`.

        Raises:
            RateLimited: The line is full, or the wait would be longer than allowed, or it would
                reach `deadline_s`, the caller's own limit on the event loop's clock.
        """
        would_wait_s = self.would_wait_s()
        if would_wait_s > 0 and self._is_too_much(would_wait_s, deadline_s):
            raise RateLimited(self.name, would_wait_s, self._entered)
        self._entered += 1

    def leave(self) -> None:
        """Give a place in the line up.

        Raises:
            RuntimeError: Nobody holds a place that no `take` waits in.
        """
        self._expect_place()
        self._entered -= 1

    def would_wait_s(self) -> float:
        """Return how long the next caller would wait for its token, in seconds."""
        wait_s = self._ready_in_s(loop_time_s()) + self._entered * self._interval_s
        return wait_s if wait_s > ROUNDING_S else 0.0

    def try_take(self) -> bool:
        """Swap a place for a token if there is one now and nobody is before.

        Raises:
            RuntimeError: See `leave`.
        """
        self._expect_place()
        now_s = loop_time_s()
        if self._line or self._ready_in_s(now_s) > ROUNDING_S:
            return False
        self._spend(now_s)
        self._entered -= 1
        return True

    def try_take_at_once(self, now_s: float) -> bool:
        """Take a token without a place in the line, if there is one now and nobody is before.

        Args:
            now_s: The time on the event loop's clock.
        """
        if self._entered:
            return False
        full_at_s = self._full_at_s
        if full_at_s <= now_s:
            full_at_s = now_s  # and the bucket is full: nearly every call finds it so
        elif self._ready_in_s(now_s) > ROUNDING_S:
            return False
        if self._paused_until_s - now_s > ROUNDING_S:
            return False
        self._full_at_s = full_at_s + self._interval_s
        return True

    async def take(self) -> float:
        """Swap a place for a token, in turn; return the seconds waited.

        Raises:
            RateLimited: It waited for `max_wait_s` in vain, because a pause came between.
            RuntimeError: See `leave`.
        """
        self._expect_place()
        began_s = loop_time_s()
        deadline_s = began_s + self._limit.max_wait_s
        if self._timer is None:
            self._arm(min(began_s + self._ready_in_s(began_s), deadline_s))
        await self._line.wait(self._on_cancelled, deadline_s)
        return loop_time_s() - began_s

    def give_back(self) -> None:
        """Return a token that was taken and not spent; it serves whoever is next.

        The bucket does not know whose token it is, and believes it.
        """
        self._full_at_s -= self._interval_s
        if self._line:
            self._serve()

    def pause(self, pause_s: float) -> float:
        """Send nothing for `pause_s` seconds, at most `max_pause_s`; return the seconds it will be.

        Pauses do not add up: the one that ends last counts. Tokens saved up are dropped, so that
        the source is then called again at its rate and not in a burst.
        """
        bounded_s = min(max(pause_s, 0.0), self._limit.max_pause_s)
        until_s = loop_time_s() + bounded_s
        if bounded_s and until_s > self._paused_until_s:
            self._paused_until_s = until_s
            self._full_at_s = max(self._full_at_s, until_s + self._depth_s)
        return bounded_s

    def shift_times(self, by_s: float) -> None:
        """Move every moment that it remembers by so many seconds: the clock has moved so."""
        self._full_at_s += by_s
        self._paused_until_s += by_s

    def refuse_all(self, error: Callable[[], Exception]) -> None:
        """Raise an error of its own at each caller that waits for a token; none is spent."""
        self._entered -= self._line.refuse_all(error)
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
        if self._entered <= len(self._line):
            raise RuntimeError(
                f"no place in the line of {self.name!r} is held; enter once for each take or "
                "leave, or acquire, which does both"
            )

    def _is_too_much(self, would_wait_s: float, deadline_s: float | None) -> bool:
        if self._entered >= self._limit.max_queue or would_wait_s > self._limit.max_wait_s:
            return True
        return deadline_s is not None and loop_time_s() + would_wait_s >= deadline_s

    def _serve(self) -> None:
        """Serve everybody whose token is there and refuse whoever has waited too long."""
        self._disarm()
        now_s = loop_time_s()
        while self._line:
            if self._ready_in_s(now_s) <= ROUNDING_S:
                if self._line.serve():
                    self._spend(now_s)
                    self._entered -= 1
            elif self._line.head_deadline_s <= now_s + ROUNDING_S:
                self._refuse_head(self._ready_in_s(now_s))
            else:
                self._arm(min(now_s + self._ready_in_s(now_s), self._line.head_deadline_s))
                return

    def _refuse_head(self, would_wait_s: float) -> None:
        if self._line.refuse(RateLimited(self.name, would_wait_s, self._entered)):
            self._entered -= 1

    def _arm(self, at_s: float) -> None:
        # An empty context: that of whoever waits now would be kept alive by those who follow.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(at_s, self._serve, context=Context())

    def _disarm(self) -> None:
        """Stop the timer; it belongs to the event loop of those who wait, and ends with them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_cancelled(self, served: bool) -> None:
        if served:
            self.give_back()
            return
        self._entered -= 1
        if not self._line:
            self._disarm()

    def _spend(self, now_s: float) -> None:
        full_at_s = max(now_s, self._full_at_s)
        self._full_at_s = full_at_s + self._interval_s

    def _ready_in_s(self, now_s: float) -> float:
        """Return when the next token comes; the more are saved up, the further below 0."""
        full_at_s = max(now_s, self._full_at_s)
        ready_at_s = full_at_s - self._depth_s
        return (max(self._paused_until_s, ready_at_s)) - now_s
