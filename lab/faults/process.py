"""Faults done to a service's process: paused, stopped, killed."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from lab.experiment import ProcessFault
from lab.running import RunningSystem


@asynccontextmanager
async def process_fault(
    fault: ProcessFault, system: RunningSystem
) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Take the process away and give it back at the end, ready again.

    Raises:
        NoValidData: the service would not come back.
    """
    name = fault.service
    service = system.system.service(name)
    try:
        match fault.kind:
            case "pause":
                await system.signal(name, signal.SIGSTOP)
            case "stop":
                await system.stop(name)
            case "kill":
                await system.kill(name)
        yield _is_away(fault, system)
    finally:
        if fault.kind == "pause":
            await system.signal(name, signal.SIGCONT)
        await system.start(service)


def _is_away(fault: ProcessFault, system: RunningSystem) -> Callable[[], Awaitable[bool]]:
    async def is_away() -> bool:
        # A paused process that has died refuses connections: another fault than the one asked for.
        return fault.kind != "pause" or fault.service not in system.dead_services()

    return is_away
