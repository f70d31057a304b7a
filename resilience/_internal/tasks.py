"""Ending tasks: cancelled and awaited by their owner."""

import asyncio
from collections.abc import Iterable


async def cancel_and_wait(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait until the last has ended, even if the waiter is cancelled.

    Raises:
        asyncio.CancelledError: The waiter was cancelled; the tasks have ended.
    """
    pending = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
