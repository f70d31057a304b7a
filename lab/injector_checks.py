"""Whether injectors have the faults that the lab asked for: those everywhere, and no others."""

import asyncio
from collections.abc import Iterable

from lab.errors import NoValidData
from lab.running import RunningSystem
from lab.spec.fault_documents import ChaosFault
from lab.spec.faults import Fault


async def check_single(system: RunningSystem, faults: Iterable[Fault]) -> None:
    """Make sure that each of *faults* will reach the whole of its service.

    Raises:
        NoValidData: a service has several injectors, each with faults of its own.
    """
    for name in {fault.service for fault in faults if isinstance(fault, ChaosFault)}:
        await system.injectors[name].check_single()


async def foreign_faults(system: RunningSystem) -> str:
    """Return in words which faults somebody else has put on since the last look; empty: none.

    All injectors and proxies are asked at the same time. One that cannot answer, because its
    service is paused or stopped, has nothing to tell.

    Raises:
        NoValidData: a fault of the lab's own is at one process of several.
    """
    try:
        async with asyncio.TaskGroup() as group:
            looks = [
                *(
                    group.create_task(injector.foreign_faults())
                    for name, injector in system.injectors.items()
                    if system.can_be_asked(name)
                ),
                *(
                    group.create_task(place.foreign_faults(str(link)))
                    for link, place in system.places.items()
                ),
            ]
    except* NoValidData as failures:
        raise NoValidData(str(failures.exceptions[0])) from failures
    return "; ".join(found for look in looks if (found := look.result()))
