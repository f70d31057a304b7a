"""A fault that the service makes itself, renewed under a lease while the lab lives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from lab.faults.lease import LEASE_S, RENEW_EVERY_S, leased
from lab.injector import Injector
from lab.running import RunningSystem
from lab.spec.fault_documents import ChaosFault


@asynccontextmanager
async def chaos_fault(
    fault: ChaosFault, system: RunningSystem, *, seed: int, persistent: bool = False
) -> AsyncIterator[Injector]:
    """Switch the fault on, keep its lease, and switch it off at the end.

    Args:
        fault: which, and where.
        system: its services.
        seed: of the injector's dice.
        persistent: see `leased`.

    Raises:
        NoValidData: the injector refuses the document or does not answer, or there are several.
    """
    injector = system.injectors[fault.service]
    document = {"seed": seed} | dict(fault.document) | {"ttlS": LEASE_S}
    async with leased(
        put_on=partial(injector.put_on, document, has_effect=fault.has_effect),
        renew=partial(injector.renew, LEASE_S, within_s=RENEW_EVERY_S),
        take_off=injector.take_off,
        persistent=persistent,
    ):
        yield injector
