"""A fault that the service makes itself, renewed under a lease while the lab lives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from lab.control import NoAnswerError
from lab.errors import NoValidData
from lab.injector import Injector
from lab.running import RunningSystem
from lab.spec.fault_documents import ChaosFault

LEASE_S = 5.0
RENEW_EVERY_S = 1.5


@asynccontextmanager
async def chaos_fault(
    fault: ChaosFault, system: RunningSystem, *, seed: int, persistent: bool = False
) -> AsyncIterator[Injector]:
    """Switch the fault on, keep its lease, and switch it off at the end.

    Args:
        fault: which, and where.
        system: its services.
        seed: of the injector's dice.
        persistent: whether to switch it on again where the service has forgotten it, restarted
            or paused beyond the lease; an experiment would rather hear of that.

    Raises:
        NoValidData: the injector refuses the document or does not answer, or there are several.
    """
    injector = system.injectors[fault.service]
    document = {"seed": seed} | dict(fault.document) | {"ttlS": LEASE_S}
    await injector.put_on(document, has_effect=fault.has_effect)
    again = partial(injector.put_on, document, has_effect=fault.has_effect)
    renewal = asyncio.create_task(_renew(injector, again if persistent else None))
    try:
        yield injector
    finally:
        renewal.cancel()
        await asyncio.wait({renewal})
        await injector.take_off()


async def _renew(injector: Injector, again: Callable[[], Awaitable[None]] | None) -> None:
    """Renew the lease for ever; a missed renewal shows in the check after the run."""
    while True:
        await asyncio.sleep(RENEW_EVERY_S)
        with suppress(NoAnswerError, NoValidData):
            is_on = await injector.renew(LEASE_S, within_s=RENEW_EVERY_S)
            if not is_on and again is not None:
                await again()
