"""A load sent, up to its end or to the first interrupt."""

import asyncio
import gc
import signal
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from loadgen.command.live import LiveLine, SamplesProgress
from loadgen.engine import run_load
from loadgen.event_loop import loop_factory
from loadgen.load import Load
from loadgen.samples import Samples

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def send(load: Load, *, live_to: int | None, label: str = "") -> tuple[Samples, bool]:
    """Send the load; return its samples, and whether an interrupt ended it before its time.

    Args:
        load: what to send.
        live_to: the descriptor that the live line goes to; None for no line.
        label: what the live line begins with.
    """
    samples = Samples()
    gc.freeze()  # what start-up made needs no look again while latencies are taken
    progress = SamplesProgress(samples)
    line: AbstractContextManager[object] = nullcontext()
    if live_to is not None:
        line = LiveLine(load, progress, descriptor=live_to, label=label)
    with line, asyncio.Runner(loop_factory=loop_factory()) as runner:
        is_interrupted = runner.run(_is_interrupted(run_load(load, into=samples)))
    return samples, is_interrupted


async def _is_interrupted(work: Coroutine[Any, Any, object]) -> bool:
    """Run *work* until it ends or a signal comes."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in heeded}
    for number in before:
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return True
    else:
        return False
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
