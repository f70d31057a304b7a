"""A service ended and started again, which loses what it kept in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import RestartFault


@asynccontextmanager
async def restart_fault(fault: RestartFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Restart the service and wait until it is ready.

    Raises:
        NoValidData: there is no process of the lab's, or the service would not come back.
    """
    service = system.system.service(fault.service)
    system.own_process(fault.service)
    await system.stop(fault.service)
    await system.start(service)
    restarted = system.own_process(fault.service)

    async def is_the_restarted_one() -> bool:
        return system.process(fault.service) is restarted and restarted.exit_code is None

    yield UncountedFault(is_the_restarted_one)
    await system.start(service)
