"""A backing Redis that has forgotten everything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from lab.errors import NoValidData
from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import FlushFault

ANSWER_S = 5.0


@asynccontextmanager
async def flush_fault(fault: FlushFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Empty the server; it may fill again at once.

    Raises:
        NoValidData: the server is somebody else's, whose data are not the lab's to delete, or it
            does not answer.
    """
    system.own_process(fault.service)
    url = system.url(fault.service)
    try:
        async with asyncio.timeout(ANSWER_S), Redis.from_url(url) as redis:
            await redis.flushall()
    except (RedisError, OSError) as failure:
        raise NoValidData(f"cannot flush {fault.service} at {url}: {failure}") from failure

    async def was_done() -> bool:
        return True

    yield UncountedFault(was_done)
