"""Tests without waiting: an event loop whose clock jumps to the next timer.

The library waits on its loop's clock alone, and so does whatever uses `asyncio.sleep` and
`asyncio.timeout`: half a minute of retries takes no time, and takes exactly half a minute.

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(scenario())

Give the client an `httpx.MockTransport` there. The clock does not wait for anything outside
of asyncio: a thread, a socket or a process that responds after a while.
"""

import asyncio
import math
import selectors
from collections.abc import Callable
from contextvars import Context

__all__ = ["VirtualClockLoop"]

_RESOLUTION_S = 1e-9  # as asyncio's own loops have it: timers no further apart fire together


class _JumpingSelector(selectors.DefaultSelector):
    """Never blocks: instead of waiting for a timer it moves the loop's clock there."""

    loop: "VirtualClockLoop"

    def __init__(self, *, polls: bool) -> None:
        super().__init__()
        self._polls = polls

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0) if self._polls else []
        if not ready and timeout is None:
            raise RuntimeError(
                "every task waits and no timer is set: the test can never end; look for an event, "
                "future or thread that nothing in it triggers"
            )
        if not ready and timeout:
            self.loop.jump_to_next_timer()
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A loop on virtual seconds: `time()` starts at 0 and moves only while every task waits.

    Once every task waits and no timer will ever fire, nothing can happen any more: running it
    raises a RuntimeError instead of hanging.

    Time goes on at any value: a timer fires at its time to the last digit of a float, and a wait
    that is too short for a float, such as 10 ns in the year 2026, takes the shortest possible.

    Args:
        polls: Whether to look at files and sockets at all; a scenario without any, other threads
            included, runs faster without the system call each round.
        now_s: The virtual time to start at, in seconds; for example `time.time()`.

    Raises:
        ValueError: A time is not finite, or a timer is set for NaN.
    """

    def __init__(self, *, polls: bool = True, now_s: float = 0.0) -> None:
        selector = _JumpingSelector(polls=polls)
        selector.loop = self
        super().__init__(selector)
        try:
            self.now_s = now_s
        except ValueError:
            self.close()
            raise

    @property
    def now_s(self) -> float:
        """Return the virtual time in seconds; it may be set forward."""
        return self._now_s

    @now_s.setter
    def now_s(self, now_s: float) -> None:
        if not math.isfinite(now_s):
            raise ValueError(f"now_s must be a finite number of seconds, got {now_s!r}")
        self._now_s = now_s
        # asyncio takes a timer for due if it lies before now + resolution. Beyond 2**24 s that sum
        # is now itself, and a timer for this very moment would never fire.
        self._clock_resolution = max(_RESOLUTION_S, math.ulp(now_s))

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now_s

    def wall_time(self) -> float:
        """Return the same, as the time of day by which several processes act together."""
        return self._now_s

    def jump_to_next_timer(self) -> None:
        """Move the clock to the next timer at once; asyncio would take it there day by day."""
        self.now_s = self._scheduled[0].when()  # type: ignore[attr-defined] # asyncio's heap

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds; any delay above 0 moves the clock."""
        due_s = self._now_s + delay
        if delay > 0:
            due_s = max(due_s, math.nextafter(self._now_s, math.inf))
        return self.call_at(due_s, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` at `when`; one for infinity never fires, and keeps nothing waiting."""
        if math.isnan(when):
            raise ValueError("a timer cannot be set for NaN; check what the time is computed from")
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(when, callback, *args, context=context)
