"""An event loop whose clock jumps to the next timer: policies are tested without waiting."""

import asyncio
import selectors


class _JumpingSelector(selectors.SelectSelector):
    """Never blocks: instead of waiting for a timer it moves the loop's clock there."""

    loop: "VirtualClockLoop"

    def __init__(self, *, polls: bool) -> None:
        super().__init__()
        self._polls = polls

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0) if self._polls else []
        if not ready and timeout is None:
            raise RuntimeError("every task waits and no timer is set: the scenario can never end")
        if not ready and timeout:
            self.loop.now_s += timeout
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A loop on virtual seconds: `time()` starts at 0 and moves only while every task waits.

    Args:
        polls: Whether to look at files and sockets at all; a scenario without any, other threads
            included, runs faster without the system call each round.
    """

    def __init__(self, *, polls: bool = True) -> None:
        selector = _JumpingSelector(polls=polls)
        selector.loop = self
        self.now_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now_s
