"""Each fault of a link, seen by a raw socket while it is on and once it is off."""

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.cli import main
from tests.lab.small_experiment import SYSTEM, rows, run_lab, write_experiment
from tests.lab.up.running_lab import RunningLab, lab_up, runtime_folder

pytestmark = pytest.mark.integration

WITH_CALLER = (
    SYSTEM
    + """\
  caller:
    run: "sh -c 'echo $URL {rates.port} {rates.url}; exec {python} -m http.server {port}'"
    needs: [rates]
    env: {URL: "{rates.url}"}
    inherit: [LAB_TEST_MARK]
"""
)
LOAD, CALLER = "load -> rates", "caller -> rates"
GONE_WITHIN_S = 6.0
ANSWER_S = 0.6
REQUEST = b"GET /rates/USD HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a socket saw: bytes, how the stream ended, and after how long."""

    content: bytes
    end: str
    took_s: float

    @property
    def status(self) -> bytes:
        """The three digits; nothing if the reply got not so far."""
        return self.content[9:12]

    @property
    def is_whole(self) -> bool:
        """Whether the body is as long as the head says."""
        head, _, body = self.content.partition(b"\r\n\r\n")
        return f"content-length: {len(body)}\r\n".encode() in head + b"\r\n" and len(body) > 0


def ask(port: int) -> Reply:
    began_s = time.monotonic()
    content, end = b"", "closed"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
            connection.sendall(REQUEST)
            while piece := connection.recv(4096):
                content += piece
    except TimeoutError:
        end = "silent"
    except ConnectionRefusedError:
        end = "refused"
    except ConnectionResetError:
        end = "reset"
    return Reply(content, end, time.monotonic() - began_s)


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    with runtime_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def lab(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    folder = tmp_path_factory.mktemp("up")
    with lab_up(folder, runtime, WITH_CALLER, links=(LOAD, CALLER)) as lab:
        yield lab


@pytest.mark.parametrize(
    ("fault", "status", "end", "at_least_s"),
    [
        ({"latency": "100ms", "jitter": "10ms"}, b"200", "closed", 0.09),
        ({"bandwidth": "1 KiB/s"}, b"200", "closed", 0.1),
        ({"slice": "50 B", "every": "40ms"}, b"200", "closed", 0.12),
        ({"black_hole": "true"}, b"", "silent", ANSWER_S),
        ({"reset": "true"}, b"", "reset", 0),
        ({"reset": "true", "after": "50ms", "after_bytes": "1 MiB"}, None, "any", 0),
        ({"refuse": "true"}, b"", "refused", 0),
        ({"half_close": "true", "direction": "downstream"}, b"", "closed", 0),
        ({"limit": "40 B", "direction": "downstream"}, b"200", "closed", 0),
        ({"status": 503, "retry_after": "2 s"}, b"503", "closed", 0),
        ({"delay": "100ms"}, b"200", "closed", 0.1),
        ({"drip": "20 B", "every": "40ms"}, b"200", "closed", 0.1),
        ({"truncate": "true", "keep_bytes": "5 B"}, b"200", "any", 0),
        ({"fail_first": 1, "status": 502}, b"502", "closed", 0),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_fault_is_felt_on_the_link_alone_and_ends(
    lab: RunningLab, fault: dict[str, object], status: bytes | None, end: str, at_least_s: float
) -> None:
    port = port_of(lab.link(LOAD))
    made = lab.ask("POST", "/faults", json={"link": LOAD} | fault)
    assert made.status_code == 201, made.text
    assert (made.json()["service"], made.json()["leaseS"], made.json()["on"]) == (LOAD, 5, True)

    sick = ask(port)

    if status is not None:
        assert sick.status == status
    assert end in {"any", sick.end}
    assert sick.took_s >= at_least_s
    assert ask(port_of(str(lab.service("rates")["url"]))).is_whole
    lab.ask("DELETE", f"/faults/{made.json()['id']}").raise_for_status()
    well = ask(port)
    assert (well.status, well.end) == (b"200", "closed")
    assert well.is_whole
    assert b"x-chaos" not in well.content.lower()


def test_a_spoilt_reply_is_spoilt_as_asked(lab: RunningLab) -> None:
    port = port_of(lab.link(LOAD))
    seen = {}
    for name, fault in {
        "limit": {"limit": "40 B", "direction": "downstream"},
        "truncate": {"truncate": "true", "keep_bytes": "5 B"},
        "corrupt": {"corrupt": "100 %", "direction": "downstream"},
    }.items():
        lab.ask("POST", "/faults", json={"link": LOAD} | fault)
        seen[name] = ask(port).content
        lab.clear()

    assert len(seen["limit"]) == 40
    assert len(seen["truncate"].partition(b"\r\n\r\n")[2]) == 5
    assert b"HTTP" not in seen["corrupt"]


def test_the_caller_has_the_proxys_address_and_nobody_else(lab: RunningLab) -> None:
    through = lab.link(CALLER)
    log = (lab.out / "logs" / "caller.log").read_text()

    assert log.startswith(f"{through} {port_of(through)} {through}\n")
    assert len({through, lab.link(LOAD), str(lab.service("rates")["url"])}) == 3


def test_a_refused_link_cuts_connections_that_stand(lab: RunningLab) -> None:
    with socket.create_connection(("127.0.0.1", port_of(lab.link(LOAD))), timeout=5) as standing:
        standing.sendall(REQUEST.replace(b"close", b"keep-alive"))
        assert standing.recv(12) == b"HTTP/1.1 200"
        lab.ask("POST", "/faults", json={"link": LOAD, "refuse": "true"}).raise_for_status()
        with pytest.raises(ConnectionResetError):
            b"".join(iter(lambda: standing.recv(4096), b""))
    lab.clear()


def test_a_person_puts_a_fault_on_a_link_and_clears_it(
    lab: RunningLab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fault", "link", LOAD, "status=503", "probability=100%"]) == 0
    assert ask(port_of(lab.link(LOAD))).status == b"503"
    assert main(["status"]) == 0
    assert main(["fault", "link", LOAD.replace(" ", ""), "--clear"]) == 0
    assert ask(port_of(lab.link(LOAD))).status == b"200"
    out = capsys.readouterr().out
    assert f"link on {LOAD}" in out
    assert lab.link(CALLER) in out


def test_a_link_without_a_proxy_is_named_with_what_to_do(
    lab: RunningLab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fault", "link", "load -> caller", "refuse=true"]) == 3
    assert "start the system with --link 'load -> caller'" in capsys.readouterr().err
    assert len(list(lab.out.glob("logs/*.proxy.log"))) == 2


def test_a_wrong_link_is_one_line_and_nothing_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "system.yaml").write_text(SYSTEM)
    out = tmp_path / "out"
    command = ["up", str(tmp_path / "system.yaml"), "--out", str(out), "--link", "load -> rats"]

    assert main(command) == 2
    assert capsys.readouterr().err == (
        '--link names "rats", which is no service; did you mean "rates"?\n'
    )
    assert not out.exists()


ALL_AT_ONCE: tuple[dict[str, object], ...] = (
    {"latency": "1s"},
    {"bandwidth": "1 KiB/s"},
    {"slice": "1 B"},
    {"black_hole": "true"},
    {"reset": "true"},
    {"refuse": "true"},
    {"half_close": "true"},
    {"limit": "1 B"},
    {"corrupt": "1 %"},
    {"status": 503},
    {"delay": "1s"},
    {"drip": "1 B"},
    {"truncate": "true"},
    {"fail_first": 3},
)


def test_a_lab_that_is_killed_with_every_fault_on_leaves_neither_fault_nor_process(
    tmp_path: Path, runtime: Path
) -> None:
    with lab_up(tmp_path, runtime, name="ending", links=(LOAD,)) as lab:
        for fault in ALL_AT_ONCE:
            assert lab.ask("POST", "/faults", json={"link": LOAD} | fault).status_code == 201
        assert lab.process.find("fault_proxy") > 0
        port = port_of(lab.link(LOAD))
        lab.process.process.kill()
        lab.process.finish()

        assert lab.process.survivors_after(GONE_WITHIN_S) == []
        assert ask(port).end == "refused"


EXPERIMENT = """\
title: The way to the rates service
system: system.yaml
load: {request: "GET {rates.url}/rates/USD", requests: 40, tasks: 4, timeout: 300ms}
outcome: {json: code, classes: [USD]}
clients: {direct: {}}
faults:
  none: []
  slow: [{link: load -> rates, latency: 20ms}]
  cut: [{link: load -> rates, refuse: true}]
  half: [{link: load -> rates, status: 503, probability: 50 %}, {chaos: rates, delay: 20ms}]
"""


BY_URL = """\
services:
  rates: {url: "%s", ready: /health, chaos: /chaos}
"""


def test_an_experiment_makes_the_links_of_a_service_that_runs_already_sick(
    lab: RunningLab, tmp_path: Path
) -> None:
    process = lab.service("rates")["pid"]
    file = write_experiment(tmp_path, EXPERIMENT, BY_URL % lab.service("rates")["url"])

    done = run_lab("run", file, "--out", tmp_path / "out", "--seed", "1")

    assert done.returncode == 0, done.stderr
    latest = tmp_path / "out" / "small" / "latest"
    runs = {row["fault"]: row for row in rows(latest / "runs.csv")}
    assert {name: row["note"] for name, row in runs.items()} == dict.fromkeys(runs, "")
    assert (runs["none"]["USD"], runs["slow"]["USD"], runs["cut"]["USD"]) == ("40", "40", "0")
    assert 8 <= int(runs["half"]["USD"]) <= 32
    assert float(runs["slow"]["mean_ms"]) >= 40  # 20 ms each way
    requests = rows(latest / "requests.csv.gz")
    errors = {row["error"] for row in requests if row["fault"] == "half" and row["error"]}
    assert errors == {"status 503"}
    assert lab.service("rates")["pid"] == process


def test_a_service_that_does_not_run_is_no_valid_data(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        system = BY_URL % f"http://127.0.0.1:{taken.getsockname()[1]}"
        system = system.replace("ready:", "ready_timeout: 100ms, ready:")
        done = run_lab("run", write_experiment(tmp_path, EXPERIMENT, system), "--out", tmp_path)

    assert done.returncode == 3
    assert "/health after 0.1 s; start it, or correct its url or ready" in done.stderr
