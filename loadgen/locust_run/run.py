"""One load through Locust's master and workers, checked against Locust's own counts."""

import asyncio
import json
import socket
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.locust_replies import ERROR
from loadgen.locust_run.columns import Columns
from loadgen.locust_run.load import LocustLoad
from loadgen.locust_run.processes import (
    LocustFailedError,
    LocustProcess,
    start_master,
    start_worker,
)

LOOPBACK = "127.0.0.1"
_QUIT_S = 5.0
_LAST_WORDS_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocustRun:
    """What came of a load.

    Attributes:
        columns: every request, in the order in which they finished; times in seconds since the
            first worker began. Workers on other machines are set against it by their wall clocks.
        locust_requests: how many requests Locust's own statistics counted.
        locust_failures: how many of them as failures.
    """

    columns: Columns
    locust_requests: int
    locust_failures: int


async def run_locust_load(
    load_document: Mapping[str, Any],
    *,
    workers: int,
    remote_workers: int = 0,
    master_bind_host: str = LOOPBACK,
    master_port: int | None = None,
    connect_s: float = 60.0,
    on_finished: Callable[[int], None] | None = None,
) -> LocustRun:
    """Send the load and return a sample of each request: exactly as many as asked for.

    Args:
        load_document: a `LocustLoad` in its `to_document` form.
        workers: processes started here, >= 0.
        remote_workers: how many more to wait for; each is started on its own machine by
            `locust -f loadgen/locust_run/locustfile.py --worker --master-host ADDRESS
            --master-port PORT`. Locust asks nobody who they are: bind an address that only they
            can reach.
        master_bind_host: the address that the master listens on.
        master_port: its port; None picks a free one.
        connect_s: how long to wait for all workers.
        on_finished: called now and then with the number of requests finished so far.

    The requests are split evenly over the workers; the users Locust deals out in turn. Cancelling
    ends all processes and raises.

    Raises:
        ValueError: the load is wrong, or has fewer tasks than there are workers.
        LocustFailedError: a process ended early, or the counts do not add up.
    """
    load = LocustLoad.from_document(load_document)
    expected = workers + remote_workers
    if not 1 <= expected <= load.tasks:
        raise ValueError(
            f"{load.tasks} tasks need 1..{load.tasks} workers, got {expected}; each has to run one"
        )
    port = _free_port() if master_port is None else master_port
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="locust-")))
        flags = _master_flags(load, folder, expected, connect_s)
        own = ("--master-bind-host", master_bind_host, "--master-bind-port", str(port))
        master, lines = await stack.enter_async_context(start_master(folder, flags + own))
        local = [
            await stack.enter_async_context(start_worker(f"worker-{n + 1}", folder, port))
            for n in range(workers)
        ]
        run = await _unless_ended(_read(lines, master, on_finished), local)
        if remote_workers:
            await _goodbye(master)
    return _checked(run, load)


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])


def _master_flags(
    load: LocustLoad, folder: Path, expected: int, connect_s: float
) -> tuple[str, ...]:
    load_file = folder / "load.json"
    load_file.write_text(json.dumps(load.to_document()), encoding="utf-8")
    return (
        *("--load-file", str(load_file)),
        *("--users", str(load.tasks), "--spawn-rate", str(load.tasks)),
        *("--expect-workers", str(expected)),
        *("--expect-workers-max-wait", str(max(1, round(connect_s)))),
    )


async def _read(
    lines: asyncio.StreamReader,
    master: LocustProcess,
    on_finished: Callable[[int], None] | None,
) -> LocustRun:
    """Collect the run from what the master writes."""
    parts: list[tuple[float, Columns]] = []
    while line := await lines.readline():
        match json.loads(line):
            case {"samples": samples, "began_s": began_s}:
                parts.append((began_s, Columns(**samples)))
            case {"done": {"requests": requests, "failures": failures}}:
                return LocustRun(
                    columns=_joined(parts), locust_requests=requests, locust_failures=failures
                )
            case {"finished": finished} if on_finished is not None:
                on_finished(finished)
            case {"error": why}:
                raise LocustFailedError(f"Locust gave up: {why}")
    await master.process.wait()
    raise master.failure()


def _joined(parts: list[tuple[float, Columns]]) -> Columns:
    first_s = min((began_s for began_s, _ in parts), default=0.0)
    joined = Columns()
    for began_s, columns in parts:
        joined.extend(columns, later_by_s=began_s - first_s)
    return joined.in_order()


async def _unless_ended(
    reading: Coroutine[Any, Any, LocustRun], workers: list[LocustProcess]
) -> LocustRun:
    """Wait for *reading*; raise if a worker ends before it is over."""
    result = asyncio.create_task(reading)
    endings = {asyncio.create_task(worker.process.wait()): worker for worker in workers}
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


async def _goodbye(master: LocustProcess) -> None:
    """Let the master tell the workers elsewhere that it is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_QUIT_S):
            await master.process.wait()


def _checked(run: LocustRun, load: LocustLoad) -> LocustRun:
    errors = run.columns.outcome.count(ERROR)
    found = (len(run.columns), run.locust_requests, run.locust_failures)
    if found != (load.requests, load.requests, errors):
        raise LocustFailedError(
            f"the counts do not add up: {load.requests} requests asked for, {found[0]} sampled"
            f" ({errors} errors), {found[1]} counted by Locust ({found[2]} failures); run it again"
        )
    return run
