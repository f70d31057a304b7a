"""Ctrl-C and SIGTERM cancel the work, which then undoes what it did."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run *work* and return its exit code, or INTERRUPTED if a signal cancelled it.

    A second signal cancels the clean-up too; the keeper then kills what is left.
    """
    with asyncio.Runner() as runner:
        return runner.run(_cancel_on_signal(work))


async def _cancel_on_signal(work: Coroutine[Any, Any, int]) -> int:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    for number in _SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return INTERRUPTED
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
