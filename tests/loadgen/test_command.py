"""`python -m loadgen` as a process, against a real server."""

import csv
import json
import os
import pty
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from loadgen.command.arguments import parse
from loadgen.command.live import LiveLine, Progress
from loadgen.command.loads import load_from

pytestmark = pytest.mark.integration
FRESH = ("--field", "source", "--classes", "fresh,stale")


class _Server(ThreadingHTTPServer):
    """Answers at once, but for `/slow`, which waits until the server is freed."""

    freed = Event()
    seen: list[str]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        if self.path == "/slow" and self.server.seen.count("/slow") > 3:
            self.server.freed.wait(30)
        body = b'{"source": "fresh"}'
        self.send_response(500 if self.path == "/bad" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.seen = []
        server.freed = Event()
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.freed.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def url(server: _Server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "loadgen", *arguments]


def loadgen(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=30, check=False
    )


def test_a_load_is_shown_as_a_table(url: str) -> None:
    done = loadgen(f"{url}/", "-n", "40", "-c", "3", *FRESH)
    lines = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0].startswith("40 requests in 0.")
    assert lines[0].endswith(" requests/s, 3 connections")
    assert lines[3].split()[:4] == ["fresh", "40", "100", "%"]
    assert lines[6].split() == ["error", "0", "0", "%", *["n/a"] * 7]
    assert lines[-1].startswith("the generator used ")


def test_failed_requests_are_figures_and_no_failure_of_the_command(url: str) -> None:
    done = loadgen(f"{url}/bad", "-n", "12")

    assert done.returncode == 0
    assert "\nerror: 12 x status 500\n" in done.stdout


def test_json_is_one_document_and_csv_a_row_a_request(
    url: str, server: _Server, tmp_path: Path
) -> None:
    path = tmp_path / "requests.csv"
    done = loadgen(f"{url}/", "-n", "25", "--json", "--csv", str(path))
    document = json.loads(done.stdout)

    assert (done.returncode, document["requests"], len(server.seen)) == (0, 25, 25)
    assert document["classes"]["ok"]["count"] == 25
    assert document["generator"]["connections"] == 4
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["outcome"] for row in csv.DictReader(file)] == ["ok"] * 25


def test_rows_that_the_disk_does_not_take_cost_no_figures(url: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    line = shlex.join(command(f"{url}/", "-n", "5", "--csv", str(path)))
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; {line}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout.startswith("5 requests in ")
    assert done.stderr == f"loadgen: --csv: cannot write {path}: File too large\n"


def test_a_rate_is_kept_up_to_its_number_of_requests(url: str, server: _Server) -> None:
    done = loadgen(f"{url}/", "--rate", "200/s", "-n", "60", "-q", "--json")
    document = json.loads(done.stdout)

    assert (document["requests"], len(server.seen)) == (60, 60)
    assert document["duration_s"] == pytest.approx(59 / 200, abs=0.15)


def test_two_urls_are_sent_to_in_turn_and_the_first_swaps(url: str, server: _Server) -> None:
    done = loadgen(f"{url}/a", "--against", f"{url}/b", "-n", "20", "--rounds", "2")

    assert done.returncode == 0
    assert server.seen == ["/a"] * 20 + ["/b"] * 40 + ["/a"] * 20
    assert done.stdout.startswith(f"A {url}/a\nB {url}/b\n")
    assert done.stdout.endswith("\nA: 0 of 40 requests failed\nB: 0 of 40 requests failed\n")


def test_a_target_that_takes_no_connection_is_no_valid_data() -> None:
    with socket.socket() as deaf:  # it has a port, but does not listen
        deaf.bind(("127.0.0.1", 0))
        done = loadgen(f"http://127.0.0.1:{deaf.getsockname()[1]}/", "-n", "3")

    assert done.returncode == 3
    assert "error: 3 x cannot connect: Connection refused" in done.stdout
    assert done.stderr.startswith("loadgen: no connection was made, so nothing was measured")


def test_several_processes_send_each_request_once(url: str, server: _Server) -> None:
    done = loadgen(f"{url}/", "-n", "51", "-c", "4", "--processes", "2", "--json")
    document = json.loads(done.stdout)

    assert (done.returncode, document["requests"], len(server.seen)) == (0, 51, 51)
    assert document["generator"]["connections"] == 4


@pytest.mark.parametrize(
    ("number", "processes"), [(signal.SIGINT, "1"), (signal.SIGTERM, "1"), (signal.SIGINT, "2")]
)
def test_an_interrupt_prints_the_figures_so_far(
    url: str, server: _Server, number: signal.Signals, processes: str
) -> None:
    tasks = processes
    arguments = command(f"{url}/slow", "-n", "100", "-c", tasks, "-q", "--processes", processes)
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_requests(server, 3 + int(tasks))
        process.send_signal(number)
        out, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert out.startswith("3 requests in ")
    assert f"when the load was stopped: {tasks} sent and not answered" in out
    assert err == "loadgen: interrupted; the figures are of the 3 requests that had ended\n"


def test_an_interrupted_comparison_is_of_its_whole_rounds(url: str, server: _Server) -> None:
    arguments = command(f"{url}/slow", "--against", f"{url}/", "-n", "2", "-q", "--json")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_requests(server, 8)  # 2 + 2, 2 + 2 with the second of /slow waiting
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert (process.returncode, len(json.loads(out)["rounds"])) == (130, 1)
    assert err == "loadgen: interrupted; the figures are of 1 of 5 rounds\n"


def wait_for_requests(server: _Server, number: int) -> None:
    deadline = time.monotonic() + 20
    while len(server.seen) < number:
        assert time.monotonic() < deadline, server.seen
        time.sleep(0.01)


def test_a_reader_of_the_figures_who_has_gone_away_is_an_exit_code(url: str) -> None:
    with subprocess.Popen(
        command(f"{url}/", "-n", "5"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert (process.returncode, err) == (141, "")


def test_a_closed_standard_output_is_nobody_elses_number(url: str) -> None:
    """With descriptor 1 free, the event loop would take it and be ended for that by its library."""
    line = f"{shlex.join(command(f'{url}/', '-n', '5'))} >&-"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stderr == ""


LOAD = load_from(parse(["http://127.0.0.1:1/", "--until", "30s"]), "http://127.0.0.1:1/")


def test_the_live_line_is_written_over_on_a_terminal_and_gone_at_the_end() -> None:
    ours, theirs = pty.openpty()
    try:
        with LiveLine(LOAD, lambda: Progress(7, 1.0), descriptor=theirs, label="A: "):
            shown = read_some(ours)
        left = read_some(ours)
    finally:
        os.close(ours)
        os.close(theirs)

    assert shown.startswith("\r\x1b[KA: ")
    assert " s of 30 s: 7 requests, " in shown
    assert shown.endswith("/s, errors 100 % of late")
    assert left.endswith("\r\x1b[K")


def test_the_live_line_is_plain_where_there_is_no_terminal() -> None:
    ours, theirs = os.pipe()
    try:
        with LiveLine(LOAD, lambda: Progress(7), descriptor=theirs):
            shown = read_some(ours)
    finally:
        os.close(ours)
        os.close(theirs)

    assert shown.startswith("1 s of 30 s: 7 requests, ")
    assert shown.endswith("/s\n")


def test_a_reader_that_does_not_read_holds_nothing_up() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    try:
        while True:
            os.write(theirs, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(theirs, True)
    with LiveLine(LOAD, lambda: Progress(7), descriptor=theirs) as line:
        time.sleep(1.2)  # by then it is stuck in its first line
    os.close(ours)  # before this, the line's end waited for nobody: else the test would hang
    line._thread.join(5)
    os.close(theirs)

    assert not line._thread.is_alive()


def read_some(descriptor: int) -> str:
    readable, _, _ = select.select([descriptor], [], [], 5)
    return os.read(descriptor, 4096).decode() if readable else ""
