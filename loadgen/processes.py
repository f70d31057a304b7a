"""One load sent by several processes, for more cores than one."""

import asyncio
from collections.abc import Sequence
from functools import partial

from loadgen.driver import OnFinished, Worker, WorkerError, start_worker
from loadgen.load import Load
from loadgen.report import merge_reports
from loadgen.samples import Samples
from loadgen.split import split_load


async def run_load_in_processes(
    load: Load,
    processes: int,
    *,
    on_finished: OnFinished | None = None,
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

    def __init__(self, processes: int, on_finished: OnFinished | None) -> None:
        self._finished = [0] * processes
        self._on_finished = on_finished

    def hear(self, place: int, finished: int) -> None:
        self._finished[place] = finished
        if self._on_finished is not None:
            self._on_finished(sum(self._finished))


async def _send_from_process(
    load: Load,
    ready: asyncio.Barrier,
    on_finished: OnFinished,
    stop: asyncio.Event,
) -> Samples:
    async with start_worker() as worker:
        await worker.wait_until_ready()
        await ready.wait()
        stopping = asyncio.create_task(_pass_on(stop, worker))
        try:
            samples = await worker.send(load, on_finished=on_finished)
        finally:
            stopping.cancel()
            await asyncio.wait({stopping})
    on_finished(len(samples))
    return samples


async def _pass_on(stop: asyncio.Event, worker: Worker) -> None:
    await stop.wait()
    worker.stop()


def _merged(parts: Sequence[Samples]) -> Samples:
    """Put the samples together; a part without a report was stopped before it had any."""
    merged = Samples()
    reported = [(part, part.report) for part in parts if part.report is not None]
    if reported:
        merged.report = merge_reports([report for _, report in reported])
        for part, report in reported:
            merged.extend(part, later_s=report.began_s - merged.report.began_s)
    return merged
