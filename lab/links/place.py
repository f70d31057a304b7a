"""What can be done on a link, whoever does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from lab.results.touches import Touches


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyState:
    """What a proxy tells of itself, in all since it started."""

    stalled_s: float  # for how long its event loop stood still
    own_failures: Mapping[str, int]  # connections that it could not open, by what it lacked


class Place(Protocol):
    """Where a link's traffic passes and can be made sick.

    Its faults are documents as `fault_proxy` takes them. What does not answer, or refuses, raises
    `NoValidData` in `put_on` and counts as a no elsewhere.
    """

    @property
    def port(self) -> int:
        """Where the caller connects, on loopback."""

    async def put_on(self, document: Mapping[str, object]) -> str:
        """Put a fault on beside those that are on; return its id."""

    async def renew(self, fault_id: str, ttl_s: float) -> bool:
        """Let a fault last so long from now; tell whether it is known."""

    async def take_off(self, fault_id: str) -> None:
        """Take a fault off, if it is on."""

    async def is_on(self, fault_id: str) -> bool:
        """Tell whether a fault is on."""

    async def is_clear(self) -> bool:
        """Tell whether none is on."""

    async def touches(self, fault_id: str) -> Touches | None:
        """Return what a fault has done so far; None where nobody can count that."""

    async def foreign_faults(self, where: str) -> str:
        """Return in words what others have put on *where* since the last look; empty: nothing."""

    async def connections(self) -> int | None:
        """Return how many connections have come so far; None where nobody counts."""

    async def state(self) -> ProxyState | None:
        """Return what it tells of itself; None where it tells nothing, or does not answer."""
