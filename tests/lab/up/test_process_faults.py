"""Each fault of a process, seen from outside while it is on and once it is off."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.lab.small_experiment import SYSTEM, command_line, rows, run_lab, write_experiment
from tests.lab.up.running_lab import RunningLab, lab_up, until
from tests.valkey import valkey

pytestmark = pytest.mark.integration

WITH_REDIS = (
    SYSTEM
    + """\
  redis: {backing: redis}
  pages:
    run: "{python} -m http.server {port} --bind 127.0.0.1"
    inherit: [LAB_TEST_MARK]
"""
)
REQUEST = b"GET /rates/USD HTTP/1.1\r\nHost: lab\r\n\r\n"
ANSWER_S = 0.5


@pytest.fixture(scope="module")
def shared_lab(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    """Return a lab with a Redis beside the rates."""
    with lab_up(tmp_path_factory.mktemp("up"), runtime, WITH_REDIS, "sick") as lab:
        yield lab


@contextmanager
def fault(lab: RunningLab, **document: object) -> Iterator[None]:
    """Put a fault on for the length of the block."""
    made = lab.ask("POST", "/faults", json=document)
    assert made.status_code == 201, made.text
    assert made.json()["on"] is True
    yield
    lab.ask("DELETE", f"/faults/{made.json()['id']}").raise_for_status()


def say(port: int, words: bytes) -> str:
    """Return the first bytes of the answer to *words*, or what came instead of one."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
            connection.sendall(words)
            return connection.recv(12).decode() or "closed"
    except TimeoutError:
        return "silent"
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "closed"


def status_of_next(connection: HTTPConnection) -> int:
    """Return the status of one more reply on *connection*, read to its end."""
    connection.request("GET", "/rates/USD")
    with connection.getresponse() as reply:
        reply.read()
        return reply.status


def neighbours(lab: RunningLab, words: str) -> list[Path]:
    """Return the /proc folders of the lab's processes whose command line has *words*."""
    return [
        process
        for process in Path("/proc").iterdir()
        if process.name.isdecimal()
        and lab.process._is_marked(process)
        and words in command_line(process)
    ]


def cpu_ticks(process: Path) -> int:
    after_name = (process / "stat").read_text().rpartition(")")[2].split()
    return int(after_name[11])  # utime


def soft_limit(pid: object) -> str:
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3] for line in limits if line.startswith("Max open files"))


def answers_in_turn(port: int, within_s: float, turns: int) -> list[str]:
    """Return the answers as they changed, up to *turns* of them."""
    came: list[str] = []
    deadline = time.monotonic() + within_s
    while len(came) < turns and time.monotonic() < deadline:
        if (answer := say(port, REQUEST)) not in came[-1:]:
            came.append(answer)
        time.sleep(0.02)
    return came


def test_restart_gives_a_new_process_that_answers(lab: RunningLab) -> None:
    before = lab.service("rates")["pid"]
    with_pid = lab.ask("POST", "/faults", json={"restart": "rates"})

    assert with_pid.status_code == 201
    assert until(lambda: lab.faults() == [])
    assert lab.service("rates")["pid"] != before
    assert say(lab.port("rates"), REQUEST) == "HTTP/1.1 200"


def test_a_flapping_service_goes_and_comes_by_turns_until_it_stays(lab: RunningLab) -> None:
    port = lab.port("pages")
    with fault(lab, flap="pages", down="200ms", up="200ms"):
        turns = [answer for answer in answers_in_turn(port, 20, 6) if answer != "closed"]
        assert turns[turns.index("refused") :][:3] == ["refused", "HTTP/1.0 404", "refused"]
    assert answers_in_turn(port, 0.8, 2) == ["HTTP/1.0 404"]
    assert lab.service("pages")["state"] == "running"


def test_burn_computes_beside_the_service_and_ends(lab: RunningLab) -> None:
    with fault(lab, burn="rates", cores=2):
        burners = neighbours(lab, "while True: pass")
        assert len(burners) == 2
        before = [cpu_ticks(burner) for burner in burners]
        assert until(
            lambda: all(cpu_ticks(b) >= t + 5 for b, t in zip(burners, before, strict=True))
        )
    assert neighbours(lab, "while True: pass") == []


def test_memory_is_held_beside_the_service_and_given_back(lab: RunningLab) -> None:
    with fault(lab, memory="rates", size="64 MiB"):
        [holder] = neighbours(lab, "memory_holder")
        status = dict(line.split(":", 1) for line in (holder / "status").read_text().splitlines())
        assert 64 * 1024 <= int(status["VmRSS"].split()[0]) < 96 * 1024
        assert (holder / "oom_score_adj").read_text().strip() == "1000"
    assert neighbours(lab, "memory_holder") == []


def test_more_memory_than_the_machine_can_spare_is_refused(lab: RunningLab) -> None:
    answer = lab.ask("POST", "/faults", json={"memory": "rates", "size": "1024 GiB"})

    assert answer.status_code == 503
    assert "1048576 MiB are more than the lab may hold here; write at most" in answer.text
    assert neighbours(lab, "memory_holder") == []


def test_a_service_short_of_descriptors_answers_only_those_it_knows(lab: RunningLab) -> None:
    port, pid = lab.port("rates"), lab.service("rates")["pid"]
    before = soft_limit(pid)
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as known:
        known.connect()
        known.auto_open = 0
        assert status_of_next(known) == 200
        with fault(lab, files="rates"):
            assert int(soft_limit(pid)) < int(before)
            assert say(port, REQUEST) in {"closed", "silent"}
            assert status_of_next(known) == 200
    assert soft_limit(pid) == before
    assert until(lambda: say(port, REQUEST) == "HTTP/1.1 200")


def test_a_few_spare_descriptors_let_as_many_connections_in(lab: RunningLab) -> None:
    port = lab.port("rates")
    with fault(lab, files="rates", spare=2):
        connections = [socket.create_connection(("127.0.0.1", port), timeout=2) for _ in range(4)]
        answers = []
        for connection in connections:
            with connection, suppress(OSError):
                connection.sendall(REQUEST)
                answers.append(connection.recv(12))
    assert 1 <= answers.count(b"HTTP/1.1 200") <= 2


@pytest.mark.parametrize(("kind", "seen"), [("stop", "refused"), ("pause", "silent")])
def test_redis_is_down_or_hung_until_it_is_given_back(
    lab: RunningLab, kind: str, seen: str
) -> None:
    port = lab.port("redis")
    with fault(lab, **{kind: "redis"}):
        assert say(port, b"PING\r\n") == seen
    assert say(port, b"PING\r\n") == "+PONG\r\n"


def test_a_flushed_redis_has_forgotten_and_learns_again(lab: RunningLab) -> None:
    port = lab.port("redis")
    assert say(port, b"SET key value\r\n") == "+OK\r\n"
    assert lab.ask("POST", "/faults", json={"flush": "redis"}).status_code == 201
    assert say(port, b"GET key\r\n") == "$-1\r\n"
    assert until(lambda: lab.faults() == [])
    assert say(port, b"SET key value\r\n") == "+OK\r\n"
    assert say(port, b"GET key\r\n") == "$5\r\nvalue\r\n"


@pytest.mark.parametrize("kind", ["flush", "stop", "pause", "kill", "restart", "flap", "files"])
def test_somebody_elses_redis_is_left_alone(kind: str, foreign: tuple[RunningLab, int]) -> None:
    lab, port = foreign
    assert say(port, b"SET key value\r\n") == "+OK\r\n"
    answer = lab.ask("POST", "/faults", json={kind: "redis"})

    assert answer.status_code == 503
    assert "is not the lab's own; unset REDIS_URL" in answer.text
    assert say(port, b"GET key\r\n") == "$5\r\nvalue\r\n"


@pytest.fixture(scope="module")
def foreign(
    runtime: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningLab, int]]:
    """Return a lab whose Redis was there before it, and the port of that."""
    folder = tmp_path_factory.mktemp("foreign")
    with (
        valkey(folder) as server,
        lab_up(
            folder, runtime, "services: {redis: {backing: redis}}", "foreign", REDIS_URL=server.url
        ) as lab,
    ):
        yield lab, server.port


BUSY_AND_FLAPPING = """\
title: A busy machine, and a service that comes and goes
system: system.yaml
load: {request: "GET {rates.url}/rates/USD", requests: 8, tasks: 2, timeout: 300ms}
outcome: {json: code, classes: [USD]}
clients: {direct: {}}
faults:
  busy:
    - {burn: rates, cores: 1}
    - {memory: rates, size: 16 MiB}
    - {files: rates, spare: 8}
    - {flush: redis}
  flapping: [{flap: pages, down: 100ms, up: 100ms}]
expect:
  - {fault: busy, error: 0 %}
"""


def test_an_experiment_puts_them_on_and_takes_it_off(tmp_path: Path) -> None:
    done = run_lab(
        "run", write_experiment(tmp_path, BUSY_AND_FLAPPING, WITH_REDIS), "--out", tmp_path / "o"
    )
    latest = tmp_path / "o" / "small" / "latest"

    assert done.returncode == 0, done.stderr
    notes = {run["fault"]: run["note"] for run in rows(latest / "runs.csv")}
    assert notes == {"busy": "", "flapping": ""}
    events = [json.loads(line) for line in (latest / "events.jsonl").read_text().splitlines()]
    assert [event["fault"]["kind"] for event in events if event["event"] == "fault.applied"] == [
        *("burn", "memory", "files", "flush", "flap")
    ]
