"""A neighbour that wants the processor for itself."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import BurnFault

_PROGRAM = "while True: pass"


@asynccontextmanager
async def burn_fault(fault: BurnFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Keep cores busy beside the service, a process each.

    Raises:
        KeeperError: a process could not be started.
    """
    argv = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    async with AsyncExitStack() as ends:
        neighbours = []
        for _ in range(fault.cores or _usable_cores()):
            neighbours.append(await system.start_beside(fault.service, "burn", argv))
            ends.push_async_callback(system.end_beside, neighbours[-1])

        async def all_burn() -> bool:
            return all(neighbour.exit_code is None for neighbour in neighbours)

        yield UncountedFault(all_burn)


def _usable_cores() -> int:
    """Return how many cores the lab, and with it all that it starts, may use."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return len(os.sched_getaffinity(0))
