"""The end of tasks that somebody owns."""

import asyncio
from collections.abc import Iterable


async def cancel_and_wait(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait until the last is over, however often the waiter is cancelled.

    Raises:
        asyncio.CancelledError: The waiter was cancelled; the tasks are over all the same.
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
