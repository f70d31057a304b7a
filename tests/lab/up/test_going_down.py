"""However a lab that keeps a system up ends, its faults end first and no process is left."""

import signal
import time
from pathlib import Path

import pytest

from lab.cli import main
from tests.lab.small_experiment import SYSTEM, LabProcess, run_lab
from tests.lab.up.running_lab import lab_up

pytestmark = pytest.mark.integration

GONE_WITHIN_S = 6.0


SYSTEM_WITH_ALL = (
    SYSTEM
    + """\
  redis: {backing: redis}
  first:
    run: "{python} -m http.server {port} --bind 127.0.0.1"
    inherit: [LAB_TEST_MARK]
  second:
    run: "sh -c 'echo begun; exec {python} -m http.server {port} --bind 127.0.0.1'"
    inherit: [LAB_TEST_MARK]
"""
)
ALL_THAT_LAST: tuple[dict[str, object], ...] = (
    {"chaos": "rates", "failure": 1},
    {"files": "rates"},
    {"burn": "rates", "cores": 1},
    {"memory": "rates", "size": "16 MiB"},
    {"pause": "redis"},
    {"flap": "first", "down": "200ms", "up": "200ms"},
    {"stop": "second"},
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_brings_all_down_faults_first(
    tmp_path: Path, runtime: Path, number: signal.Signals
) -> None:
    with lab_up(tmp_path, runtime, SYSTEM_WITH_ALL) as lab:
        for fault in ALL_THAT_LAST:
            assert lab.ask("POST", "/faults", json=fault).status_code == 201
        redis = lab.service("redis")["pid"]
        lab.process.process.send_signal(number)
        done = lab.process.finish()

        assert lab.process.survivors_after(GONE_WITHIN_S) == []
        assert not Path(f"/proc/{redis}/cmdline").exists()
        assert "Traceback" not in done.stderr
        if number == signal.SIGKILL:
            return
        assert done.returncode == 130
        assert not lab.socket.exists()
        events = (lab.out / "events.jsonl").read_text()
        assert events.count("fault.reverted") == len(ALL_THAT_LAST)
        assert events.rindex("fault.reverted") < events.index("system.down")
        # A stopped service is not started only to be stopped.
        assert (lab.out / "logs" / "second.log").read_text().count("begun") == 1


def test_after_a_killed_lab_no_system_is_up(
    runtime: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runtime
    assert main(["status"]) == 2
    assert capsys.readouterr().err.startswith("no system is up; start one with: python -m lab up")


SLOW = """\
services:
  slow:
    run: "{python} -c 'import time; time.sleep(60)'"
    ready: /health
    inherit: [LAB_TEST_MARK]
"""


def test_while_it_comes_up_the_lab_says_so_and_can_be_interrupted(
    tmp_path: Path, runtime: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.yaml").write_text(SLOW)
    lab = LabProcess(
        *("up", tmp_path / "slow.yaml", "--out", tmp_path / "out"), XDG_RUNTIME_DIR=str(runtime)
    )
    deadline = time.monotonic() + 20
    while main(["status"]) != 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert capsys.readouterr().err.splitlines()[-1] == "slow is still coming up; try again"
    lab.process.send_signal(signal.SIGINT)

    assert lab.finish().returncode == 130
    assert lab.survivors_after(GONE_WITHIN_S) == []


def test_a_system_that_does_not_start_is_no_valid_data(tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "broken.yaml").write_text('services: {broken: {run: "{python} -c 1/0"}}')
    done = run_lab(
        *("up", tmp_path / "broken.yaml", "--out", tmp_path / "out"), XDG_RUNTIME_DIR=str(runtime)
    )

    assert done.returncode == 3
    assert "service broken ended with code 1 before it was ready" in done.stderr
    assert list((runtime / "resilience-lab").glob("*.sock")) == []
