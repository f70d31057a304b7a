"""One load sent by several processes, for more cores than one."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import orjson

from loadgen.lines import LONGEST_LINE_BYTES, STOP
from loadgen.load import Load
from loadgen.report import RunReport, merge_reports
from loadgen.samples import Samples
from loadgen.split import split_load


class WorkerError(Exception):
    """A generator's process ended or refused its load."""


async def run_load_in_processes(
    load: Load,
    processes: int,
    *,
    on_finished: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Samples:
    """Send the load from several processes at once and return the samples of all.

    Args:
        load: shared out exactly; see `split_load`.
        processes: >= 1; fewer are used where there are fewer tasks, requests or connections.
        on_finished: called now and then with the number of requests finished so far.
        stop: once set, the load ends and the samples are those of what has finished by then.

    The samples of one process follow those of another; times are since the first process began, and
    the others begin within some milliseconds of it. Cancelling ends all processes and raises.

    Raises:
        ValueError: *processes* is below 1.
        WorkerError: a process ended or refused its load; the others are ended.
    """
    parts = split_load(load, processes)
    counts = _Counts(len(parts), on_finished)
    ready = asyncio.Barrier(len(parts))
    try:
        async with asyncio.TaskGroup() as group:
            sending = [
                group.create_task(
                    _send_from_process(
                        part, ready, partial(counts.hear, place), stop or asyncio.Event()
                    )
                )
                for place, part in enumerate(parts)
            ]
    except* WorkerError as failures:
        raise WorkerError(str(failures.exceptions[0])) from failures
    return _merged([task.result() for task in sending])


class _Counts:
    """How many requests each process has finished, told as their sum."""

    def __init__(self, processes: int, on_finished: Callable[[int], None] | None) -> None:
        self._finished = [0] * processes
        self._on_finished = on_finished

    def hear(self, place: int, finished: int) -> None:
        self._finished[place] = finished
        if self._on_finished is not None:
            self._on_finished(sum(self._finished))


async def _send_from_process(
    load: Load,
    ready: asyncio.Barrier,
    on_finished: Callable[[int], None],
    stop: asyncio.Event,
) -> Samples:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "loadgen.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is for the parent alone
        limit=LONGEST_LINE_BYTES,
    )
    try:
        await _until_ready(process)
        await ready.wait()
        assert process.stdin is not None  # noqa: S101 - it was asked for
        process.stdin.write(orjson.dumps(load.to_document()) + b"\n")
        stopping = asyncio.ensure_future(_pass_on(stop, process.stdin))
        try:
            return await _receive(process, on_finished)
        finally:
            stopping.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _pass_on(stop: asyncio.Event, process: asyncio.StreamWriter) -> None:
    await stop.wait()
    process.write(STOP)


async def _receive(
    process: asyncio.subprocess.Process, on_finished: Callable[[int], None]
) -> Samples:
    samples = Samples()
    while True:
        message = await _message(process)
        if "error" in message:
            raise WorkerError(f"a generator's process refused the load: {message['error']}")
        if "samples" in message:
            samples.extend(Samples.from_document(message["samples"]))
        if message.get("done"):
            report = message["report"]
            samples.report = RunReport(**report) if report else None
            on_finished(len(samples))
            return samples
        if "finished" in message:
            on_finished(message["finished"])


async def _until_ready(process: asyncio.subprocess.Process) -> None:
    """Wait until the process has started up, which takes longer than many a load."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.write(b'"ping"\n')
    while "pong" not in await _message(process):
        pass


async def _message(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    line = await process.stdout.readline()
    if not line:
        raise WorkerError("a generator's process ended in mid-load; run it again")
    message: dict[str, Any] = orjson.loads(line)
    return message


def _merged(parts: Sequence[Samples]) -> Samples:
    """Put the samples together; a part without a report was stopped before it had any."""
    merged = Samples()
    reported = [(part, part.report) for part in parts if part.report is not None]
    if reported:
        merged.report = merge_reports([report for _, report in reported])
        for part, report in reported:
            merged.extend(part, later_s=report.began_s - merged.report.began_s)
    return merged
