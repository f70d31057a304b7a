"""The command line and the worker process, as processes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from loadgen import Closed, JsonFieldRule, Load, Request, RunReport, Samples

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


def _loadgen(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loadgen", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_the_command_prints_one_line_of_figures(url: str) -> None:
    done = _loadgen(url, "-n", "40", "-c", "3")

    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("fresh   40  stale    0  error    0  mean ")
    assert done.stdout.count("\n") == 1
    assert done.stdout.endswith(" requests/s\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["127.0.0.1/x"], "url must be like http://127.0.0.1:8000/path, got '127.0.0.1/x'"),
        (["http://127.0.0.1:1/", "-n", "0"], "requests must be at least 1, got 0"),
        (["http://127.0.0.1:1/", "-c", "-4"], "tasks must be at least 1, got -4"),
        (["http://127.0.0.1:1/", "--timeout", "nan"], "connect_s must be a number above 0"),
        (["http://127.0.0.1:1/", "--classes", "a,a"], "classes must be distinct"),
        (["http://127.0.0.1:1/", "-n", "many"], "invalid int value: 'many'"),
    ],
)
def test_bad_arguments_are_one_clear_message_and_exit_2(
    arguments: list[str], complaint: str
) -> None:
    done = _loadgen(*arguments)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


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
