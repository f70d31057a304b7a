"""An event loop whose clock jumps to the next timer: policies are tested without waiting."""

import asyncio
import selectors


class _JumpingSelector(selectors.SelectSelector):
    """Never blocks: instead of waiting for a timer it moves the loop's clock there."""

    loop: "VirtualClockLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits and no timer is set: the scenario can never end")
        if not ready and timeout:
            self.loop.now_s += timeout
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A loop on virtual seconds: `time()` starts at 0 and moves only while every task waits."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self.now_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now_s
