"""What others do to a system's injectors and links while the lab measures."""

import asyncio

from lab.errors import NoValidData
from lab.running import RunningSystem


async def strangers(system: RunningSystem) -> str:
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
                    group.create_task(injector.strangers())
                    for name, injector in system.injectors.items()
                    if system.can_be_asked(name)
                ),
                *(
                    group.create_task(place.strangers(str(link)))
                    for link, place in system.places.items()
                ),
            ]
    except* NoValidData as failures:
        raise NoValidData(str(failures.exceptions[0])) from failures
    return "; ".join(found for look in looks if (found := look.result()))
