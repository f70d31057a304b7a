"""Tests without waiting: an event loop whose clock jumps to the next timer.

The library waits on its loop's clock alone, and so does whatever uses `asyncio.sleep` and
`asyncio.timeout`: half a minute of retries takes no time, and takes exactly half a minute.

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(scenario())

Give the client an `httpx.MockTransport` there. The clock does not wait for what is not asyncio's:
a thread, a socket or a process that answers after a while.
"""

import asyncio
import selectors


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
                "future or thread that nothing in it sets off"
            )
        if not ready and timeout:
            self.loop.now_s += timeout
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A loop on virtual seconds: `time()` starts at 0 and moves only while every task waits.

    Once every task waits and no timer is set, nothing can happen any more: running it raises a
    RuntimeError instead of hanging.

    Args:
        polls: Whether to look at files and sockets at all; a scenario without any, other threads
            included, runs faster without the system call each round.

    Attributes:
        now_s: The virtual time; may be set forward.
    """

    def __init__(self, *, polls: bool = True) -> None:
        selector = _JumpingSelector(polls=polls)
        selector.loop = self
        self.now_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now_s

    def wall_time(self) -> float:
        """Return the same, as the time of day by which several processes act together."""
        return self.now_s
