"""However a lab that keeps a system up ends, its faults end first and no process is left."""

import signal
import time
from pathlib import Path

import pytest

from lab.cli import main
from tests.lab.small_experiment import LabProcess, run_lab
from tests.lab.up.running_lab import lab_up

pytestmark = pytest.mark.integration

GONE_WITHIN_S = 6.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_brings_all_down_faults_first(
    tmp_path: Path, runtime: Path, number: signal.Signals
) -> None:
    with lab_up(tmp_path, runtime) as lab:
        lab.ask("POST", "/faults", json={"chaos": "rates", "failure": 1})
        lab.ask("POST", "/faults", json={"pause": "rates"})
        lab.process.process.send_signal(number)
        done = lab.process.finish()

        assert lab.process.survivors_after(GONE_WITHIN_S) == []
        assert "Traceback" not in done.stderr
        if number == signal.SIGKILL:
            return
        assert done.returncode == 130
        assert not lab.socket.exists()
        events = (lab.out / "events.jsonl").read_text()
        assert events.count("fault.reverted") == 2
        assert events.index("fault.reverted") < events.index("system.down")


def test_after_a_killed_lab_no_system_is_up(
    runtime: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runtime
    assert main(["status"]) == 2
    assert capsys.readouterr().err.startswith("no system is up; start one with: python -m lab up")


def test_a_stopped_service_is_not_started_only_to_be_stopped(tmp_path: Path, runtime: Path) -> None:
    with lab_up(tmp_path, runtime) as lab:
        lab.ask("POST", "/services/rates/stop")
        lab.process.process.send_signal(signal.SIGINT)
        lab.process.finish()

        assert (lab.out / "logs" / "rates.log").read_text().count("service.started") == 1


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
