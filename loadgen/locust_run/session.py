"""Locust's master and workers, kept for one load after another."""

import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from loadgen.driver import OnFinished
from loadgen.load import Load
from loadgen.locust_run.fitness import why_unfit
from loadgen.locust_run.processes import (
    LocustFailedError,
    LocustProcess,
    start_master,
    start_worker,
)
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR
from loadgen.report import RunReport, merge_reports
from loadgen.samples import Samples

LOOPBACK = "127.0.0.1"
_LAST_WORDS_S = 1.0
_Result = TypeVar("_Result")


@asynccontextmanager
async def start_locust(
    *,
    workers: int,
    remote_workers: int = 0,
    bind_host: str = LOOPBACK,
    bind_port: int | None = None,
    connect_s: int = 60,
) -> AsyncIterator["LocustSession"]:
    """Run a master and its workers until the block ends, however it ends; none is left.

    Args:
        workers: processes started here, >= 0.
        remote_workers: how many more to wait for, >= 0; each is started on its own machine by
            `locust -f loadgen/locust_run/locustfile.py --worker --master-host ADDRESS
            --master-port PORT`, and ends with the block. Locust asks nobody who they are: bind an
            address that only they can reach.
        bind_host: the address that the master listens on.
        bind_port: its port; None picks a free one.
        connect_s: how long to wait for all workers, in seconds, >= 1.

    Raises:
        ValueError: there would be no worker.
        LocustFailedError: a process ended, or not all workers came.
    """
    expected = workers + remote_workers
    if expected < 1:
        raise ValueError(f"Locust needs at least 1 worker, got {expected}")
    port = _free_port() if bind_port is None else bind_port
    flags = (
        *("--master-bind-host", bind_host, "--master-bind-port", str(port)),
        *("--expect-workers", str(expected), "--connect-s", str(connect_s)),
    )
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="locust-")))
        master, lines = await stack.enter_async_context(start_master(folder, flags))
        local = [
            await stack.enter_async_context(start_worker(f"worker-{n + 1}", folder, port))
            for n in range(workers)
        ]
        session = LocustSession(master, lines, local, workers=expected)
        await session.wait_until_ready()
        yield session


class LocustSession:
    """Sends loads, one at a time; `start_locust` makes one."""

    def __init__(
        self,
        master: LocustProcess,
        lines: asyncio.StreamReader,
        local: Sequence[LocustProcess],
        *,
        workers: int,
    ) -> None:
        self._master = master
        self._lines = lines
        self._local = local
        self._workers = workers

    async def wait_until_ready(self) -> None:
        """Wait until all workers have come; `LocustFailedError` if they do not."""
        await self._unless_one_ends(self._message("ready"))

    async def send(
        self, load: Load, *, on_finished: OnFinished | None = None, into: Samples | None = None
    ) -> Samples:
        """Send the load and return a sample of each request: exactly as many as asked for.

        The requests are split evenly over the workers; the users Locust deals out in turn. Every
        sample is taken by this package, to the microsecond: the rounding of Locust's own
        percentiles (whole milliseconds below 100 ms, two digits above) has no part in it.

        Args:
            load: closed, with a number of requests; see `why_unfit`.
            on_finished: hears how far it is.
            into: empty samples to fill; they stay empty if the call is cancelled.

        Returns:
            The samples of one worker after those of another, without first bytes; times in seconds
            since the first worker began. Workers on other machines are set against it by their wall
            clocks. Their report tells of stalls and of what could not be sent, not of CPU time: a
            worker at full speed uses a whole core, whoever is the limit.

        Raises:
            ValueError: Locust cannot send such a load.
            LocustFailedError: a process ended, or the samples and Locust's own counts do not add
                up. The session is of no more use, nor after a cancellation.
        """
        if why := why_unfit(load, workers=self._workers):
            raise ValueError(why)
        self._master.write(json.dumps(load.to_document()).encode() + b"\n")
        samples = Samples() if into is None else into
        await self._unless_one_ends(self._receive(load, samples, on_finished))
        return samples

    async def _receive(self, load: Load, samples: Samples, on_finished: OnFinished | None) -> None:
        """Take the master's messages up to the end of a load."""
        parts: list[tuple[float, Samples]] = []
        while True:
            message = await self._message("samples", "finished", "done")
            if "samples" in message:
                parts.append((message["began_s"], Samples.from_document(message["samples"])))
            elif "finished" in message and on_finished is not None:
                on_finished(message["finished"])
            elif "done" in message:
                _join(parts, samples)
                _check_counts(load, samples, message["done"])
                samples.report = merge_reports([RunReport(**each) for each in message["reports"]])
                return

    async def _message(self, *kinds: str) -> dict[str, Any]:
        """Return the master's next message of one of *kinds*; raise what it gave up for."""
        while line := await self._lines.readline():
            message: dict[str, Any] = json.loads(line)
            if "error" in message:
                raise LocustFailedError(f"Locust gave up: {message['error']}")
            if any(kind in message for kind in kinds):
                return message
        await self._master.process.wait()
        raise self._master.failure()

    async def _unless_one_ends(self, reading: Coroutine[Any, Any, _Result]) -> _Result:
        """Wait for *reading*; raise if a worker ends before it is over."""
        result = asyncio.create_task(reading)
        endings = {asyncio.create_task(each.process.wait()): each for each in self._local}
        try:
            await asyncio.wait({result, *endings}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():  # unless the master's last words are still on their way
                await asyncio.wait({result}, timeout=_LAST_WORDS_S)
            if result.done():
                return result.result()
            raise next(worker for ending, worker in endings.items() if ending.done()).failure()
        finally:
            for task in (result, *endings):
                task.cancel()
            await asyncio.wait({result, *endings})


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])


def _join(parts: Sequence[tuple[float, Samples]], into: Samples) -> None:
    first_s = min((began_s for began_s, _ in parts), default=0.0)
    for began_s, samples in sorted(parts, key=lambda part: part[0]):
        into.extend(samples, later_s=began_s - first_s)


def _check_counts(load: Load, samples: Samples, counted: dict[str, int]) -> None:
    asked = getattr(load.shape, "requests", None)
    failures = {ERROR_CLASS, GENERATOR_ERROR}
    errors = sum(n for end, n in samples.count_endings().items() if end.outcome in failures)
    if (len(samples), errors) != (counted["requests"], counted["failures"]) or asked != len(
        samples
    ):
        raise LocustFailedError(
            f"the counts do not add up: {asked} requests asked for, {len(samples)} sampled "
            f"({errors} errors), {counted['requests']} counted by Locust "
            f"({counted['failures']} failures); run it again"
        )
