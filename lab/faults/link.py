"""A fault on a link, made by what its traffic passes through, under a lease."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lab.faults.applied import AppliedFault
from lab.faults.lease import LEASE_S, leased
from lab.links.place import Place
from lab.results.touches import Touches
from lab.running import RunningSystem
from lab.spec.fault_documents import LinkFault


@asynccontextmanager
async def link_fault(
    fault: LinkFault, system: RunningSystem, *, seed: int, persistent: bool = False
) -> AsyncIterator[AppliedFault]:
    """Put the fault on, keep its lease, and take it off at the end.

    Args:
        fault: which, and where.
        system: its links.
        seed: of the dice, unless the fault names one.
        persistent: see `leased`.

    Raises:
        NoValidData: nothing was put on that link, or what was put there refuses or does not answer.
    """
    kept = _Kept(system.place(fault.link), {"seed": seed} | dict(fault.document))
    async with leased(
        put_on=kept.put_on, renew=kept.renew, take_off=kept.take_off, persistent=persistent
    ):
        yield kept


class _Kept:
    def __init__(self, place: Place, document: dict[str, object]) -> None:
        self._place = place
        self._document = document | {"ttlS": LEASE_S}
        self._id = ""

    async def put_on(self) -> None:
        self._id = await self._place.put_on(self._document)

    async def renew(self) -> bool:
        return await self._place.renew(self._id, LEASE_S)

    async def is_active(self) -> bool:
        return await self._place.is_on(self._id)

    async def touches(self) -> Touches | None:
        return await self._place.touches(self._id)

    async def take_off(self) -> None:
        await self._place.take_off(self._id)
