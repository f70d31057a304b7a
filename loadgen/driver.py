"""The engine as a process of its own, `loadgen.worker`: starts it, drives it, ends it.

So whoever sends a load, and shows how far it is, cannot disturb what is measured.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson

from loadgen.load import Load
from loadgen.report import RunReport
from loadgen.samples import Samples

# The lines between a worker and its driver.
LONGEST_LINE_BYTES = 2**24
SAMPLES_A_LINE = 100_000  # of 32 bytes each
PING, STOP = b'"ping"\n', b'"stop"\n'

OnFinished = Callable[[int], None]
"""Is called now and then with the number of requests of a load that have finished so far."""

_STOP_S = 1.0  # for a worker to tell how far a load was
_GOODBYE_S = 2.0


class WorkerError(Exception):
    """A generator's process ended or refused its load; the message says what happened."""


class Worker:
    """Sends one load after another in a process of its own; `start_worker` makes one."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def wait_until_ready(self) -> None:
        """Wait until the process has started up, which takes longer than many a load."""
        self._write(PING)
        while "pong" not in await self._message():
            pass

    async def send(
        self, load: Load, *, on_finished: OnFinished | None = None, into: Samples | None = None
    ) -> Samples:
        """Send a load and return its samples.

        Args:
            load: what to send.
            on_finished: hears how far it is.
            into: empty samples to fill. If the call is cancelled, they are those of the requests
                that had ended, with those that had not; without a report if that is not known.

        Raises:
            WorkerError: the process ended, or it refused the load.
        """
        samples = Samples() if into is None else into
        self._write(orjson.dumps(load.to_document()) + b"\n")
        try:
            await self._receive(samples, on_finished)
        except asyncio.CancelledError:
            if into is not None:
                await self._receive_what_is_finished(samples)
            raise
        return samples

    def stop(self) -> None:
        """End the load that is being sent: its `send` returns what has finished by now.

        Its report is None if it had not begun to be measured.
        """
        self._write(STOP)

    async def _receive_what_is_finished(self, samples: Samples) -> None:
        self.stop()
        with suppress(WorkerError, TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await self._receive(samples, None)

    async def _receive(self, samples: Samples, on_finished: OnFinished | None) -> None:
        """Take the worker's messages up to the end of a load."""
        while True:
            message = await self._message()
            if "error" in message:
                raise WorkerError(f"the load generator refused the load: {message['error']}")
            if "samples" in message:
                samples.extend(Samples.from_document(message["samples"]))
            if "finished" in message and on_finished is not None:
                on_finished(message["finished"])
            if message.get("done"):
                report = message["report"]
                samples.report = RunReport(**report) if report else None
                return

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(line)

    async def _message(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        line = await self._process.stdout.readline()
        if not line:
            raise WorkerError("the load generator ended in mid-load; run it again")
        message: dict[str, Any] = orjson.loads(line)
        return message


@asynccontextmanager
async def start_worker() -> AsyncIterator[Worker]:
    """Run a worker until the block ends; it also ends by itself once this process is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "loadgen.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is for its driver alone
        limit=LONGEST_LINE_BYTES,
    )
    try:
        yield Worker(process)
    finally:
        await end_child(process, within_s=_GOODBYE_S)


async def end_child(process: asyncio.subprocess.Process, *, within_s: float) -> None:
    """Close the input of *process*, which ends with it, and wait; kill it if that takes too long.

    Args:
        process: started with a pipe as its standard input; it may have ended.
        within_s: how long it may take, in seconds. A cancelled wait kills it at once.
    """
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        pass  # it hangs; killed below
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
