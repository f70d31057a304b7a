"""A service that goes and comes back, over and over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import FlapFault


@asynccontextmanager
async def flap_fault(fault: FlapFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Stop the service at once, and go on starting and stopping it; leave it running.

    Raises:
        NoValidData: there is no process of the lab's, or the service would not come back.
    """
    system.own_process(fault.service)
    over = asyncio.Event()
    flapping = asyncio.create_task(_flap(fault, system, over))

    async def is_flapping() -> bool:
        return not flapping.done()

    try:
        yield UncountedFault(is_flapping)
    except BaseException:
        # The system comes down next: it is not started again for that.
        flapping.cancel()
        await asyncio.wait({flapping})
        raise
    # Not cancelled: a stop cut short would leave a process that still holds the port.
    over.set()
    await flapping


async def _flap(fault: FlapFault, system: RunningSystem, over: asyncio.Event) -> None:
    service = system.system.service(fault.service)
    while not over.is_set():
        await system.stop(fault.service)
        await _wait(over, fault.down_s)
        await system.start(service)
        await _wait(over, fault.up_s)


async def _wait(over: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await over.wait()
