"""What a fault in force can be asked."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from lab.results.touches import Touches


class AppliedFault(Protocol):
    """A fault from the moment when it was applied until it is reverted."""

    async def is_active(self) -> bool:
        """Tell whether it still is on, as it was asked for."""

    async def touches(self) -> Touches | None:
        """Return what it has done so far; None where nobody can count that."""


@dataclass(frozen=True, slots=True)
class UncountedFault:
    """One that cannot tell what it touched: a paused process, a busy processor."""

    check: Callable[[], Awaitable[bool]]

    async def is_active(self) -> bool:
        """Tell what the check says."""
        return await self.check()

    async def touches(self) -> None:
        """Return None."""
