"""One request under a fault: what was decided about it, and what has hit it so far."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.fault import Fault
from chaos.verdict import Verdict


@dataclass(slots=True, kw_only=True)
class Case:
    """A touched request; `now_s` is the event loop's clock."""

    fault: Fault
    verdict: Verdict
    now_s: Callable[[], float]
    hits: list[str] = field(default_factory=list)  # in the order of effect

    @property
    def is_on(self) -> bool:
        """Whether the fault still is on: once it is off, nothing more of it happens."""
        return self.fault.on_for_s(self.now_s()) > 0

    def hit(self, name: str) -> None:
        """Note that the fault *name* did something to this request."""
        self.fault.touched += not self.hits
        self.fault.hits[name] += 1
        self.hits.append(name)

    async def wait(self, seconds: float, gone: asyncio.Task[None]) -> None:
        """Wait *seconds*, or less if the fault goes off or the caller is *gone* before.

        Raises:
            Exception: whatever *gone* failed with.
        """
        until_s = self.now_s() + seconds
        while not gone.done() and (left_s := self._left_s(until_s)) > 0:
            await asyncio.wait(
                {gone, self.fault.changed},
                timeout=None if left_s == float("inf") else left_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        if gone.done():
            gone.result()

    def _left_s(self, until_s: float) -> float:
        now_s = self.now_s()
        return min(until_s - now_s, self.fault.on_for_s(now_s))
