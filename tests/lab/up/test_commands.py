"""The commands that act on a system that another process keeps up."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from lab.cli import main
from tests.lab.small_experiment import LabProcess
from tests.lab.up.running_lab import RunningLab, get, until

pytestmark = pytest.mark.integration

Capture = pytest.CaptureFixture[str]


def rates_status(lab: RunningLab) -> int:
    return get(f"{lab.service('rates')['url']}/rates/USD").status_code


def test_status_shows_services_and_that_no_fault_is_on(lab: RunningLab, capsys: Capture) -> None:
    assert main(["status"]) == 0
    out = capsys.readouterr().out

    assert "small, up since" in out
    assert str(lab.service("rates")["ready"]) in out
    assert str(lab.service("rates")["pid"]) in out
    assert "no fault is on" in out


def test_chaos_is_felt_listed_and_cleared(lab: RunningLab, capsys: Capture) -> None:
    assert main(["chaos", "rates", "failure=100%", "status=503"]) == 0
    assert rates_status(lab) == 503
    [fault] = lab.faults()
    assert (fault["kind"], fault["service"], fault["until"]) == ("chaos", "rates", None)
    assert fault["fields"] == {"failure": 1.0, "status": 503}
    assert (fault["on"], fault["touched"]) == (True, 1)
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert "failure=1.0, status=503), until taken off" in out
    assert out.rstrip().endswith(" 1")  # the table's last column

    assert main(["chaos", "rates", "--clear"]) == 0
    assert rates_status(lab) == 200
    assert lab.faults() == []


def test_a_wire_name_and_a_unit_say_the_same(lab: RunningLab) -> None:
    for field in ("delay=70ms", "delayMs=70", "delayMs=70ms"):
        assert main(["chaos", "rates", field]) == 0
        [fault] = lab.faults()
        assert fault["fields"] == {"delayMs": 70}


def test_the_lease_is_short_and_renewed(lab: RunningLab) -> None:
    main(["chaos", "rates", "failure=1"])
    [fault] = lab.faults()
    chaos = lab.service("rates")["chaos"]
    left_s = get(chaos).json()["leftS"]

    assert left_s <= float(str(fault["leaseS"])) == 5
    assert until(lambda: get(chaos).json()["leftS"] < left_s)
    assert until(lambda: get(chaos).json()["leftS"] > left_s - 0.2, within_s=3)


def test_for_a_while_ends_by_itself(lab: RunningLab) -> None:
    assert main(["chaos", "rates", "failure=1", "--for", "700ms"]) == 0
    [fault] = lab.faults()
    assert 0 < float(str(fault["leftS"])) <= 0.7
    assert rates_status(lab) == 500
    assert until(lambda: lab.faults() == [])
    assert rates_status(lab) == 200


def test_a_restarted_service_is_made_sick_again(lab: RunningLab) -> None:
    main(["chaos", "rates", "failure=1"])
    pid = lab.service("rates")["pid"]
    assert main(["restart", "rates"]) == 0
    assert lab.service("rates")["pid"] != pid
    assert until(lambda: rates_status(lab) == 500)


def test_pause_holds_the_port_and_resume_lets_it_answer(lab: RunningLab) -> None:
    port = int(str(lab.service("rates")["url"]).rpartition(":")[2])
    assert main(["pause", "rates"]) == 0
    assert lab.service("rates")["state"] == "paused"
    with socket.create_connection(("127.0.0.1", port), timeout=0.3) as connection:
        connection.sendall(b"GET /rates/USD HTTP/1.1\r\nHost: h\r\n\r\n")
        with pytest.raises(TimeoutError):
            connection.recv(1)
        assert main(["resume", "rates"]) == 0
        connection.settimeout(10)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert lab.service("rates")["state"] == "running"


def test_a_stopped_service_refuses_connections_until_start(lab: RunningLab) -> None:
    url = str(lab.service("rates")["url"])
    assert main(["stop", "rates"]) == 0
    assert lab.service("rates")["state"] == "stopped"
    assert [fault["kind"] for fault in lab.faults()] == ["stop"]
    with pytest.raises(httpx.ConnectError):
        get(f"{url}/health")
    assert main(["start", "rates"]) == 0
    assert get(f"{url}/health").status_code == 200
    assert lab.faults() == []


def test_a_killed_service_is_gone_without_a_goodbye(lab: RunningLab) -> None:
    assert main(["kill", "rates"]) == 0
    assert main(["logs", "rates", "-n", "1"]) == 0
    assert lab.service("rates")["state"] == "stopped"
    last_line = lab.ask("GET", "/services/rates/logs").json()["text"].splitlines()[-1]
    assert "service.stopped" not in last_line


def test_a_service_that_ended_by_itself_is_told_and_can_be_started(lab: RunningLab) -> None:
    os.kill(int(str(lab.service("rates")["pid"])), 9)
    assert until(lambda: lab.service("rates")["state"] == "ended")
    assert lab.service("rates")["exitCode"] == -9
    assert main(["start", "rates"]) == 0
    assert rates_status(lab) == 200


@pytest.mark.parametrize(
    ("before", "command", "says"),
    [
        (None, "stop rats", 'there is no service "rats" in small; did you mean "rates"?'),
        (None, "resume rates", "rates is not paused but running"),
        (None, "start rates", "rates runs already"),
        ("stop rates", "stop rates", "rates is stopped already (f"),
        ("pause rates", "kill rates", "rates is paused already (f"),
        ("pause rates", "start rates", "rates is paused already (f"),
        ("fault flap rates up=9s", "restart rates", "rates is flapping already (f"),
        (None, "chaos rates", 'fault does nothing to "rates"; write e.g. failure: 30 %'),
        (None, "chaos rates failur=1", 'unknown key "failur"; did you mean "failure"?'),
        (
            None,
            "chaos rates failure=7",
            'failure must be a share from 0 to 1 or 0 % to 100 %, got "7"',
        ),
        (None, "chaos rates delay=5ms delayMs=5", 'fault has "delay" twice; give it once'),
        (None, "chaos rates failure", 'write field=value, got "failure"'),
        (None, "chaos rates failure=1 --for 30", 'for must say its unit, got "30"'),
        (
            None,
            "chaos rats failure=1",
            'chaos names "rats", which is no service with a "chaos" path',
        ),
        (None, "chaos rats --clear", 'there is no service "rats"; did you mean "rates"?'),
        (None, "fault chaoss rates", "fault must have exactly one of the keys chaos, link, pause"),
        (None, "logs rats", 'there is no service "rats" in small'),
        (None, "status smal", 'no system called "smal" is up; did you mean "small"?'),
    ],
)
def test_a_mistake_is_one_clear_line_and_changes_nothing(
    lab: RunningLab, capsys: Capture, before: str | None, command: str, says: str
) -> None:
    if before:
        assert main(before.split()) == 0
        capsys.readouterr()
    faults = [fault["id"] for fault in lab.faults()]

    assert main(command.split()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(says)
    assert [fault["id"] for fault in lab.faults()] == faults


def test_clearing_what_is_clear_is_no_mistake(lab: RunningLab, capsys: Capture) -> None:
    assert lab.faults() == []
    assert main(["chaos", "rates", "--clear"]) == 0
    assert capsys.readouterr().out == "no chaos fault is on at rates\n"


@pytest.mark.usefixtures("lab")
def test_logs_follow_what_a_service_writes_until_interrupted(runtime: Path) -> None:
    follower = subprocess.Popen(
        [sys.executable, "-m", "lab", "logs", "rates", "-f", "-n", "1"],
        env=os.environ | {"XDG_RUNTIME_DIR": str(runtime)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with follower:
        assert follower.stdout is not None
        assert "service." in follower.stdout.readline()
        main(["restart", "rates"])
        assert "service.stopped" in follower.stdout.readline()
        assert "service.started" in follower.stdout.readline()
        follower.send_signal(2)
        assert follower.wait(10) == 130


def test_a_second_lab_of_the_same_name_is_refused_before_it_starts(
    lab: RunningLab, tmp_path: Path, runtime: Path
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("services: {redis: {backing: redis}}")
    second = LabProcess("up", file, "--out", tmp_path / "out", XDG_RUNTIME_DIR=str(runtime))
    done = second.finish()

    assert done.returncode == 2
    assert done.stderr.startswith('a system called "small" is up already')
    assert not (tmp_path / "out").exists()
    assert lab.service("rates")["state"] == "running"
