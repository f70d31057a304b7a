"""Faults done to a service's process: paused, stopped, killed."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import ProcessFault

LOOKS = 200
LOOK_EVERY_S = 0.005


@asynccontextmanager
async def process_fault(fault: ProcessFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Take the process away and give it back at the end, ready again.

    Raises:
        NoValidData: there is no process of the lab's, or the service would not come back.
    """
    name = fault.service
    system.own_process(name)
    service = system.system.service(name)
    await _take_away(fault, system)
    try:
        yield UncountedFault(lambda: _is_away(fault, system))
    except BaseException:
        # The system comes down next: it is not started again for that, but nothing stays paused.
        if fault.kind == "pause":
            await system.signal(name, signal.SIGCONT)
        raise
    if fault.kind == "pause":
        await system.signal(name, signal.SIGCONT)
    await system.start(service)


async def _take_away(fault: ProcessFault, system: RunningSystem) -> None:
    match fault.kind:
        case "pause":
            await system.signal(fault.service, signal.SIGSTOP)
            await _until_held(fault.service, system)
        case "stop":
            await system.stop(fault.service)
        case "kill":
            await system.kill(fault.service)


async def _until_held(name: str, system: RunningSystem) -> None:
    """Wait for the kernel: a signal that has been sent has not yet been delivered."""
    for _ in range(LOOKS):  # if it is in vain, the check after the run tells
        if system.is_paused(name) is not False:
            return
        await asyncio.sleep(LOOK_EVERY_S)


async def _is_away(fault: ProcessFault, system: RunningSystem) -> bool:
    if fault.kind == "pause":
        # Dead, it refuses connections: another fault than the one asked for.
        is_dead = fault.service in system.dead_services()
        return not is_dead and system.is_paused(fault.service) is not False
    return not await system.answers(fault.service)
