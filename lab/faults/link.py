"""A fault on a link, made by what its traffic passes through, under a lease."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lab.faults.applied import AppliedFault
from lab.faults.chaos import LEASE_S, RENEW_EVERY_S
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
        persistent: whether to put it on again if its lease has run out, because the lab was
            paused; an experiment would rather hear of that.

    Raises:
        NoValidData: nothing was put on that link, or what was put there refuses or does not answer.
    """
    kept = _Kept(system.place(fault.link), {"seed": seed} | dict(fault.document))
    await kept.put_on()
    renewal = asyncio.create_task(kept.renew(persistent=persistent))
    try:
        yield kept
    finally:
        renewal.cancel()
        await asyncio.wait({renewal})
        await kept.take_off()


class _Kept:
    def __init__(self, place: Place, document: dict[str, object]) -> None:
        self._place = place
        self._document = document | {"ttlS": LEASE_S}
        self._id = ""

    async def put_on(self) -> None:
        self._id = await self._place.put_on(self._document)

    async def renew(self, *, persistent: bool) -> None:
        """Renew the lease for ever; one that ran out shows in the check after the run."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            if not await self._place.renew(self._id, LEASE_S) and persistent:
                await self.put_on()

    async def is_active(self) -> bool:
        return await self._place.is_on(self._id)

    async def touches(self) -> Touches | None:
        return await self._place.touches(self._id)

    async def take_off(self) -> None:
        await self._place.take_off(self._id)
