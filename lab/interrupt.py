"""Ctrl-C, SIGTERM and SIGHUP cancel the work, which then undoes what it did."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
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
    before = {number: signal.getsignal(number) for number in _heeded()}
    for number in before:
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return INTERRUPTED
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


@contextmanager
def finish_first() -> Iterator[list[int]]:
    """Let the block finish whatever signal comes; yield the list of those that came."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in _heeded()}
    for number in before:
        signal.signal(number, lambda which, _: came.append(which))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _heeded() -> list[signal.Signals]:
    """Return the signals that nobody asked to be ignored, as nohup does with SIGHUP."""
    return [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
