"""The engine as a process of its own, so that whoever drives it cannot disturb what it measures.

`python -m loadgen.worker` reads one JSON load a line and answers with JSON lines:
`{"finished": n}` a few times a second while it runs, then `{"samples": {...}}` (the form of
`Samples.to_document`) as often as it takes, and `{"done": true, "report": {...}, "limits": [...]}`,
its report of itself; or `{"error": "..."}` for a load that cannot be sent. The end of its input
ends it, even in mid-load. `"stop"` ends the last load that was read and lets it be answered with
what there is; its report is null if it had not begun. `"ping"` is answered by `{"pong": true}`.
"""

import asyncio
import gc
import json
import os
import stat
import sys
from typing import Any

import orjson

from loadgen.driver import LONGEST_LINE_BYTES, SAMPLES_A_LINE, STOP
from loadgen.engine import run_load
from loadgen.event_loop import loop_factory
from loadgen.load import Load
from loadgen.samples import Samples

PROGRESS_EVERY_S = 0.25


def main() -> None:
    """Serve loads until the input ends; exit code 1 if the input is no pipe."""
    if not _is_pipe(sys.stdin.fileno()):
        sys.exit("loadgen.worker takes its loads from a pipe; by hand: python -m loadgen URL")
    gc.freeze()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve())


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def serve() -> None:
    """Read loads from standard input, one at a time, and write their results."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    lines: asyncio.Queue[tuple[bytes, asyncio.Event]] = asyncio.Queue()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(_answer_each(lines))
        while line := await reader.readline():
            if line == STOP:
                stop.set()
            else:
                stop = asyncio.Event()
                lines.put_nowait((line, stop))
        answering.cancel()


async def _answer_each(lines: "asyncio.Queue[tuple[bytes, asyncio.Event]]") -> None:
    while True:
        line, stop = await lines.get()
        await _answer(line, stop)


async def _answer(line: bytes, stop: asyncio.Event) -> None:
    try:
        document = json.loads(line)
        if document == "ping":
            _write({"pong": True})
            return
        load = Load.from_document(document)
    except (ValueError, TypeError, KeyError) as problem:
        _write({"error": f"not a load: {problem}"})
        return
    samples = Samples()
    await _run(load, samples, stop)
    for chunk in samples.chunks(SAMPLES_A_LINE):
        _write({"samples": chunk.to_document()})
    report = samples.report
    document, limits = (report.to_document(), report.limits) if report else (None, ())
    _write({"done": True, "report": document, "limits": limits})


async def _run(load: Load, samples: Samples, stop: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_load(load, into=samples))
        beside = [
            group.create_task(_tell_progress(samples)),
            group.create_task(_cancel_when(stop, running)),
        ]
        await asyncio.wait([running])
        for task in beside:
            task.cancel()


async def _cancel_when(stop: asyncio.Event, running: "asyncio.Task[Samples]") -> None:
    await stop.wait()
    running.cancel()


async def _tell_progress(samples: Samples) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        _write({"finished": len(samples)})


def _write(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
