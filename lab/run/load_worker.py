"""The load generator as a process beside the lab, so that the display cannot disturb it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson

from lab.errors import NoValidData
from loadgen import Load, RunReport, Samples
from loadgen.child import end_child
from loadgen.classify import RULE_FAILED
from loadgen.lines import LONGEST_LINE_BYTES, STOP

GOODBYE_S = 2.0
STOP_S = 1.0  # for the worker to tell how far an interrupted load was


class LoadWorker:
    """Sends one load after another in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def send(
        self, load: Load, *, on_finished: Callable[[int], None], into: Samples | None = None
    ) -> Samples:
        """Send a load and return its samples; see `Engine`.

        Raises:
            NoValidData: the process ended, would not take the load, or an outcome rule of the
                user's own failed.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        samples = Samples() if into is None else into
        self._process.stdin.write(orjson.dumps(load.to_document()) + b"\n")
        try:
            await self._receive(samples, on_finished)
        except asyncio.CancelledError:
            self._process.stdin.write(STOP)
            with suppress(NoValidData, TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._receive(samples, on_finished)
            raise
        return samples

    async def _receive(self, samples: Samples, on_finished: Callable[[int], None]) -> None:
        """Take the worker's messages up to the end of a load."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while line := await self._process.stdout.readline():
            message: dict[str, Any] = orjson.loads(line)
            if "samples" in message:
                samples.extend(Samples.from_document(message["samples"]))
            if message.get("done"):
                report = message["report"]  # null for a load that was stopped in its warm-up
                samples.report = RunReport(**report) if report else None
                _check_rule(samples)
                return
            if "error" in message:
                raise NoValidData(f"the load generator refused the load: {message['error']}")
            if "finished" in message:
                on_finished(message["finished"])
        raise NoValidData("the load generator ended in mid-load; run it again")


def _check_rule(samples: Samples) -> None:
    for ending in samples.endings:
        if ending.error.startswith(RULE_FAILED):
            raise NoValidData(f"{ending.error}; correct it and run again")


@asynccontextmanager
async def start_load_worker() -> AsyncIterator[LoadWorker]:
    """Run a worker until the block ends; it also ends by itself once the lab is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "loadgen.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is for the lab alone
        limit=LONGEST_LINE_BYTES,
    )
    try:
        yield LoadWorker(process)
    finally:
        await end_child(process, within_s=GOODBYE_S)
