"""Against servers of others, each in a process of its own; one is stopped in mid-load."""

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from loadgen import (
    Closed,
    JsonFieldRule,
    Load,
    Open,
    Request,
    Stage,
    StatusRule,
    percentile,
    run_load,
    run_load_in_processes,
)

pytestmark = pytest.mark.integration
RULE = JsonFieldRule(json_field="source", classes=("fresh",))
APP = """
import uvicorn
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = b'{"source": "fresh"}'
    await send({"type": "http.response.body", "body": body[:7], "more_body": True})
    await send({"type": "http.response.body", "body": body[7:]})
uvicorn.run(app, port=PORT, http="IMPLEMENTATION", lifespan="off", log_level="critical")
"""


@contextmanager
def serving(command: list[str], port: int, folder: Path) -> Iterator[int]:
    """Run a server until the block ends; yields its process id."""
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def uvicorn(implementation: str, port: int) -> list[str]:
    app = APP.replace("PORT", str(port)).replace("IMPLEMENTATION", implementation)
    return [sys.executable, "-c", app]


def load_of(port: int, shape: Closed | Open) -> Load:
    return Load(requests=(Request(url=f"http://127.0.0.1:{port}/"),), shape=shape, outcome=RULE)


@pytest.mark.parametrize("implementation", ["h11", "httptools"])
async def test_uvicorn_sends_chunks_and_keeps_its_connections(
    implementation: str, port: int, tmp_path: Path
) -> None:
    with serving(uvicorn(implementation, port), port, tmp_path):
        samples = await run_load(load_of(port, Closed(requests=200, tasks=4)))

    assert samples.outcome == ["fresh"] * 200
    assert samples.report is not None
    assert samples.report.connections == 4


@pytest.mark.parametrize("protocol", ["HTTP/1.0", "HTTP/1.1"])
async def test_the_standard_library_serves_files(protocol: str, port: int, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x" * 300_000)
    command = [sys.executable, "-m", "http.server", str(port), "--protocol", protocol]
    with serving([*command, "--bind", "127.0.0.1"], port, tmp_path):
        base = f"http://127.0.0.1:{port}/"
        load = Load(
            requests=(Request(url=base + "there"), Request(url=base + "missing")),
            shape=Closed(requests=20, tasks=2),
            outcome=StatusRule(statuses={"200": "there", "404": "missing"}),
        )
        samples = await run_load(load)

    assert sorted(samples.outcome) == ["missing"] * 10 + ["there"] * 10


async def test_a_stopped_server_is_in_the_latency_of_all_that_was_due_meanwhile(
    port: int, tmp_path: Path
) -> None:
    """As wrk2 counts: of a stop of s seconds, what is due at t into it waits s - t."""
    rate_per_s, duration_s, stop_s = 200, 3.0, 1.0
    with serving(uvicorn("httptools", port), port, tmp_path) as pid:
        shape = Open(
            stages=(Stage(duration_s=duration_s, rate_per_s=rate_per_s),), max_connections=4
        )
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(run_load(load_of(port, shape)))
            await asyncio.sleep(1)
            os.kill(pid, signal.SIGSTOP)
            stopped = time.perf_counter()
            await asyncio.sleep(stop_s)
            os.kill(pid, signal.SIGCONT)
            stop_s = time.perf_counter() - stopped
        samples = sending.result()

    requests = int(rate_per_s * duration_s)
    late = max(0, math.ceil(requests / 100) - 1)  # how many are slower than the 99th percentile
    assert samples.outcome == ["fresh"] * requests
    assert percentile(sorted(samples.latencies_s()), 0.99) == pytest.approx(
        stop_s - late / rate_per_s, rel=0.05
    )


async def test_processes_send_one_load_together(port: int, tmp_path: Path) -> None:
    heard: list[int] = []
    with serving(uvicorn("httptools", port), port, tmp_path):
        load = load_of(port, Closed(requests=101, tasks=5))
        samples = await run_load_in_processes(load, 2, on_finished=heard.append)

    assert samples.outcome == ["fresh"] * 101
    assert heard[-1] == 101
    assert samples.report is not None
    assert samples.report.connections == 5
    assert 0 <= min(samples.scheduled_s) < 1
