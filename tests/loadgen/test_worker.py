"""The worker process, as a process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from loadgen import (
    Closed,
    JsonFieldRule,
    Load,
    Open,
    Request,
    RunReport,
    Samples,
    Stage,
    WorkerError,
    run_load_in_processes,
    start_worker,
)

pytestmark = pytest.mark.integration
RULE = JsonFieldRule(json_field="source", classes=("fresh",))


class _Fresh(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"source": "fresh"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fresh) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def _start_worker() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "loadgen.worker"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_the_worker_answers_each_load_and_survives_a_bad_line(url: str) -> None:
    load = Load(
        requests=(Request(url=url, headers={"X-A": "1"}, body="b"),),
        shape=Closed(requests=5, tasks=2),
        outcome=RULE,
    )
    with _start_worker() as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        print("nonsense", file=worker.stdin, flush=True)
        assert "not a load" in json.loads(worker.stdout.readline())["error"]
        print(json.dumps(load.to_document()), file=worker.stdin, flush=True)
        answer = json.loads(worker.stdout.readline())
        done = json.loads(worker.stdout.readline())
        worker.stdin.close()

        assert Samples.from_document(answer["samples"]).outcome == ["fresh"] * 5
        assert done["done"]
        assert RunReport(**done["report"]).connections == 5  # the server closes each
        assert worker.wait(5) == 0


def test_a_worker_that_is_told_to_stop_answers_with_what_it_has(url: str) -> None:
    load = Load(requests=(Request(url=url),), shape=Closed(duration_s=600, tasks=2), outcome=RULE)
    with _start_worker() as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        print(json.dumps(load.to_document()), file=worker.stdin, flush=True)
        while not json.loads(worker.stdout.readline()).get("finished"):
            pass
        print('"stop"', file=worker.stdin, flush=True)
        messages: list[dict[str, Any]] = []
        while not (messages and messages[-1].get("done")):
            messages.append(json.loads(worker.stdout.readline()))
        worker.stdin.close()

    samples = Samples.from_document(next(m["samples"] for m in messages if "samples" in m))
    assert len(samples) > 0
    assert set(samples.outcome) == {"fresh"}
    assert (RunReport(**messages[-1]["report"]).connections or 0) >= len(samples)


async def test_several_processes_stop_before_they_have_begun(url: str) -> None:
    load = Load(requests=(Request(url=url),), shape=Closed(duration_s=600, tasks=2), outcome=RULE)
    stop = asyncio.Event()
    stop.set()

    async with asyncio.timeout(20):
        samples = await run_load_in_processes(load, 2, stop=stop)
    assert set(samples.outcome) <= {"fresh"}


async def test_a_process_to_which_no_request_falls_has_nothing_to_send(url: str) -> None:
    shape = Open(stages=(Stage(duration_s=0.2, rate_per_s=10),))
    load = Load(requests=(Request(url=url),), shape=shape, outcome=RULE)

    async with asyncio.timeout(20):
        samples = await run_load_in_processes(load, 3)
    assert samples.outcome == ["fresh"] * 2


def test_the_end_of_its_input_ends_the_worker_in_mid_load() -> None:
    """Whoever drove it is gone, so nobody would read the answer."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fresh) as silent:  # accepts, never answers
        request = Request(url=f"http://127.0.0.1:{silent.server_port}")
        load = Load(requests=(request,), shape=Closed(requests=1, tasks=1), outcome=RULE)
        with _start_worker() as worker:
            assert worker.stdin is not None
            print(json.dumps(load.to_document()), file=worker.stdin, flush=True)
            worker.stdin.close()

            assert worker.wait(5) == 0


async def test_one_worker_sends_one_load_after_another(url: str) -> None:
    finished: list[int] = []
    async with start_worker() as worker:
        for requests in (3, 5):
            shape = Closed(requests=requests, tasks=2)
            load = Load(requests=(Request(url=url),), shape=shape, outcome=RULE)
            samples = await worker.send(load, on_finished=finished.append)
            assert samples.outcome == ["fresh"] * requests
            assert samples.report is not None

    assert all(number <= 5 for number in finished)


async def test_a_worker_that_dies_in_mid_load_is_an_error_that_says_what_to_do() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fresh) as silent:  # accepts, never answers
        request = Request(url=f"http://127.0.0.1:{silent.server_port}")
        load = Load(requests=(request,), shape=Closed(requests=1, tasks=1), outcome=RULE)
        async with start_worker() as worker:
            await worker.wait_until_ready()
            sending = asyncio.create_task(worker.send(load))
            worker._process.kill()
            with pytest.raises(WorkerError, match="ended in mid-load; run it again"):
                await sending
