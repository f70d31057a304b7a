"""A load sent, up to its end or to the first interrupt."""

import asyncio
import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from loadgen.command.live import LiveLine, Progress, progress_of
from loadgen.engine import run_load
from loadgen.event_loop import loop_factory
from loadgen.load import Load
from loadgen.processes import run_load_in_processes
from loadgen.samples import Samples

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def send(
    load: Load, *, processes: int, live_to: int | None, label: str = ""
) -> tuple[Samples, bool]:
    """Send the load; return its samples, and whether an interrupt ended it before its time.

    Args:
        load: what to send.
        processes: >= 1; one sends from this process, more from as many beside it.
        live_to: the descriptor that the live line goes to; None for no line.
        label: what the live line begins with.

    Raises:
        WorkerError: one of several processes ended in mid-load.
    """
    sending = _HereSending(load) if processes == 1 else _ProcessesSending(load, processes)
    line: AbstractContextManager[object] = nullcontext()
    if live_to is not None:
        line = LiveLine(load, sending.progress, descriptor=live_to, label=label)
    gc.freeze()  # what start-up made needs no look again while latencies are taken
    with line, asyncio.Runner(loop_factory=loop_factory()) as runner:
        is_interrupted = runner.run(sending.run())
    return sending.samples, is_interrupted


class _HereSending:
    """The engine in this process."""

    def __init__(self, load: Load) -> None:
        self.samples = Samples()
        self._load = load

    def progress(self) -> Progress:
        """Return how far it is."""
        return progress_of(self.samples)

    async def run(self) -> bool:
        """Send; return whether a signal came."""
        task = asyncio.ensure_future(run_load(self._load, into=self.samples))
        with _on_signal(task.cancel):
            try:
                await task
            except asyncio.CancelledError:
                return True
        return False


class _ProcessesSending:
    """The engine in several processes; a second signal no longer waits for what they have."""

    def __init__(self, load: Load, processes: int) -> None:
        self.samples = Samples()
        self._load = load
        self._processes = processes
        self._finished = 0

    def progress(self) -> Progress:
        """Return how many requests have ended, as far as the processes have told."""
        return Progress(self._finished)

    async def run(self) -> bool:
        """Send; return whether a signal came."""
        stop = asyncio.Event()
        task = asyncio.ensure_future(
            run_load_in_processes(self._load, self._processes, on_finished=self._hear, stop=stop)
        )
        with _on_signal(lambda: task.cancel() if stop.is_set() else stop.set()):
            try:
                self.samples = await task
            except asyncio.CancelledError:
                return True
        return stop.is_set()

    def _hear(self, finished: int) -> None:
        self._finished = finished


@contextmanager
def _on_signal(react: Callable[[], object]) -> Iterator[None]:
    """Let each signal that nobody asked to be ignored call *react* until the block ends."""
    loop = asyncio.get_running_loop()
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in heeded}
    for number in before:
        loop.add_signal_handler(number, react)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
