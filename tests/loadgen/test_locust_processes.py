"""Loads sent by real Locust processes against a real server."""

import asyncio
import itertools
import json
import os
import re
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from loadgen import Closed, JsonFieldRule, Load, Request, Samples, TimeOuts
from loadgen.locust_run import LocustFailedError, start_locust
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.service_process import free_port

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

PROJECT = Path(__file__).parents[2]
EXPERIMENT_FILE = PROJECT / "loadgen" / "locust_run" / "locustfile.py"
STALE, FRESH = json_reply('{"source": "stale"}'), json_reply('{"source": "fresh"}')
LENGTH = re.compile(rb"(?i)content-length: (\d+)")
SLOW_S = 0.05


def load_on(url: str, *, requests: int, timeout_s: float = 10.0) -> Load:
    return Load(
        requests=(
            Request(url=url, method="DELETE", weight=3),
            Request(url=f"{url}?other", weight=1),
        ),
        shape=Closed(requests=requests, tasks=4),
        time_outs=TimeOuts(whole_s=timeout_s),
        outcome=JsonFieldRule(json_field="source", classes=("fresh", "stale")),
    )


def with_bodies(*bodies: str, url: str) -> Load:
    return replace(
        load_on(url, requests=40), requests=(Request(url=url, method="POST", bodies=bodies),)
    )


async def test_without_keep_alive_each_request_has_a_connection_of_its_own() -> None:
    """The server would keep them, whatever it is told."""
    async with scripted_server(lambda _: FRESH) as server, start_locust(workers=1) as locust:
        load = load_on(server.url, requests=30)
        samples = await locust.send(replace(load, keep_alive=False))
        of_its_own = server.connections
        await locust.send(load)
        kept = server.connections - of_its_own

    assert (set(samples.outcome), of_its_own, kept) == ({"fresh"}, 30, 4)
    assert all(b"connection: close" in head.lower() for head in server.requests[:30])
    assert not any(b"connection: close" in head.lower() for head in server.requests[30:])


async def send(load: Load) -> Samples:
    async with start_locust(workers=1) as locust:
        return await locust.send(load)


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose current folder is below *folder*."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            current = (entry / "cwd").readlink()
        except OSError:
            continue
        if entry.name.isdigit() and folder in current.parents:
            found.append(int(entry.name))
    return found


async def eventually(holds: Callable[[], object], *, within_s: float) -> None:
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.05)


async def test_workers_here_and_elsewhere_send_load_after_load_exactly_until_one_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(here))
    never = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"
    odd = {50: None, 51: json_reply("{}"), 52: json_reply("", "503 Unavailable"), 53: never}
    port, told = free_port(), list[int]()
    async with scripted_server(lambda n: odd.get(n, STALE if n % 2 else FRESH)) as server:
        elsewhere = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "locust", "-f", str(EXPERIMENT_FILE), "--headless"),
            *("--worker", "--master-port", str(port)),
            cwd=there,
            env={"PATH": os.environ["PATH"], "HOME": str(there)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with start_locust(workers=1, remote_workers=1, bind_port=port) as locust:
                load = load_on(server.url, requests=203, timeout_s=0.7)
                samples = await locust.send(load, on_finished=told.append)
                sent = len(server.requests)
                one = await locust.send(load_on(server.url, requests=1))
                again = await locust.send(with_bodies("a", "bb", "ccc", "dddd", url=server.url))
                sent_in_all = len(server.requests)
                [worker] = [pid for pid in processes_in(here) if is_worker(pid)]
                os.kill(worker, signal.SIGKILL)
                with pytest.raises(LocustFailedError, match="worker-1 ended with code -9"):
                    await locust.send(load_on(server.url, requests=100_000))
            assert processes_in(here) == []
            async with asyncio.timeout(10):
                assert await elsewhere.wait() == 0
        finally:
            if elsewhere.returncode is None:
                elsewhere.kill()
                await elsewhere.wait()

    assert sent == len(samples) == 203
    assert (len(one), len(again), sent_in_all) == (1, 40, 203 + 1 + 40)
    lengths = [LENGTH.search(head) for head in server.requests[204:sent_in_all]]
    assert Counter(found[1] for found in lengths if found) == dict.fromkeys(
        (b"1", b"2", b"3", b"4"), 10
    )
    assert Counter(samples.error) == {
        "": 199,
        "closed without a reply": 1,
        "no field 'source' in the body": 1,
        "status 503": 1,
        "no complete reply in 0.7 s": 1,
    }
    assert samples.outcome.count("error") == 4
    assert Counter(samples.status) == {200: 201, 503: 1, None: 1}
    assert abs(samples.request.count(1) - 203 / 4) <= 2
    assert sum(head.startswith(b"DELETE") for head in server.requests[:203]) == (
        samples.request.count(0)
    )
    assert server.most_concurrent <= 4
    assert min(samples.scheduled_s) >= 0
    latencies_s = samples.latencies_s()
    assert 0.69 <= max(latencies_s) < 3
    assert sum(latency_s > 0.69 for latency_s in latencies_s) == 1
    assert told == sorted(told)


async def test_a_worker_that_stands_still_and_one_without_descriptors_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with (
        scripted_server(lambda _: FRESH, delay_s=0.02) as server,
        start_locust(workers=1) as locust,
    ):
        sending = asyncio.ensure_future(locust.send(load_on(server.url, requests=400)))
        await eventually(lambda: len(server.requests) > 20, within_s=60)
        [worker] = [pid for pid in processes_in(tmp_path) if is_worker(pid)]
        os.kill(worker, signal.SIGSTOP)
        await asyncio.sleep(1)
        os.kill(worker, signal.SIGCONT)
        stalled = await sending
        _leave_no_descriptor(worker)
        shape = Closed(requests=60, tasks=30)
        starved = await locust.send(replace(load_on(server.url, requests=60), shape=shape))

    assert stalled.report is not None
    assert stalled.report.limits[0].startswith("its event loop stood still ")
    counts = Counter(starved.outcome)
    assert counts["generator_error"] > 0  # those of the load before have left a few descriptors
    assert counts["generator_error"] + counts["fresh"] == len(starved) == 60
    assert starved.report is not None
    assert starved.report.limits[0].startswith(
        f"it could not send {counts['generator_error']} of 60 requests: too many open files (limit "
    )


def _leave_no_descriptor(pid: int) -> None:
    taken = {int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    limit = next(number for number in itertools.count() if number not in taken)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))


async def test_a_starter_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    starter = (
        "import asyncio, json, sys; from loadgen import Load;"
        "from tests.loadgen.test_locust_processes import send;"
        "asyncio.run(send(Load.from_document(json.loads(sys.argv[1]))))"
    )
    async with scripted_server(lambda _: FRESH, delay_s=SLOW_S) as server:
        document = load_on(server.url, requests=100_000).to_document()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", starter, json.dumps(document)),
            cwd=PROJECT,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)},
        )
        try:
            await eventually(lambda: len(server.requests) > 10, within_s=60)
            assert len(processes_in(tmp_path)) == 2
        finally:
            process.kill()
            await process.wait()
        await eventually(lambda: not processes_in(tmp_path), within_s=5)


def is_worker(pid: int) -> bool:
    return b"--worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
