"""A fault under a lease: it ends by itself unless it is renewed, so that none outlives the lab."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from lab.control import NoAnswerError
from lab.errors import NoValidData

LEASE_S = 5.0
RENEW_EVERY_S = 1.5  # two renewals may fail

_Do = Callable[[], Awaitable[None]]
_Renew = Callable[[], Awaitable[bool]]


@asynccontextmanager
async def leased(
    *, put_on: _Do, renew: _Renew, take_off: _Do, persistent: bool
) -> AsyncIterator[None]:
    """Put a fault on, renew its lease while the block runs, and take it off at the end.

    Args:
        put_on: puts it on for LEASE_S.
        renew: lets it last LEASE_S from now; False if it is known to be off.
        take_off: takes it off; where that fails the lease ends it.
        persistent: whether a fault that is off, because its process is a new one or the lab was
            paused, is put on again; an experiment would rather hear of that.

    Raises:
        NoValidData: it could not be put on.
    """
    await put_on()
    renewal = asyncio.create_task(_keep_renewing(renew, put_on if persistent else None))
    try:
        yield
    finally:
        renewal.cancel()
        await asyncio.wait({renewal})
        await take_off()


async def _keep_renewing(renew: _Renew, again: _Do | None) -> None:
    """Renew until cancelled; a renewal that fails shows in the check after the run."""
    while True:
        await asyncio.sleep(RENEW_EVERY_S)
        with suppress(NoAnswerError, NoValidData):
            if not await renew() and again is not None:
                await again()
