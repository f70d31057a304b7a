"""What happens behind the lab's back is seen, and such a run is never averaged in."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.lab.small_experiment import EXPERIMENT, LabProcess, rows, run_lab, write_experiment

pytestmark = pytest.mark.integration

SLOWLY = EXPERIMENT.replace("delay: 20ms", "delay: 100ms").replace("warmup: 1", "warmup: 0")


def _start(folder: Path, fault: str) -> tuple[LabProcess, Path]:
    file = write_experiment(folder, SLOWLY)
    only = ("--only", f"fault={fault}", "--repeats", "1")
    lab = LabProcess("run", file, "--out", folder / "out", *only)
    latest = folder / "out" / "small" / "latest"
    lab.wait_for("fault.applied", latest)
    return lab, latest


def test_a_pause_that_somebody_ends(tmp_path: Path) -> None:
    lab, latest = _start(tmp_path, "paused")
    os.kill(lab.find("rates_api"), signal.SIGCONT)
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "the fault ended before the run did"
    assert done.returncode == 3
    assert "NOT COUNTED" in done.stderr


def test_a_fault_that_somebody_clears(tmp_path: Path) -> None:
    lab, latest = _start(tmp_path, "slow")
    command = Path(f"/proc/{lab.find('rates_api')}/cmdline").read_bytes().split(b"\0")
    port = command[command.index(b"--port") + 1].decode()
    assert httpx.delete(f"http://127.0.0.1:{port}/chaos").status_code == 200
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "the fault ended before the run did"
    assert done.returncode == 3


def test_a_service_that_dies(tmp_path: Path) -> None:
    lab, latest = _start(tmp_path, "slow")
    os.kill(lab.find("rates_api"), signal.SIGKILL)
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "service rates ended by itself"
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_a_counter_that_is_no_counter_is_not_available(tmp_path: Path) -> None:
    system_text = write_experiment(tmp_path, SLOWLY).with_name("system.yaml")
    system_text.write_text(system_text.read_text().replace("json: received", "json: nothing"))
    only = ("--only", "fault=none", "--repeats", "1")
    done = run_lab("run", tmp_path / "small.yaml", "--out", tmp_path / "out", *only)
    [run] = rows(tmp_path / "out" / "small" / "latest" / "runs.csv")

    assert done.returncode == 0
    assert run["attempts"] == run["attempts_per_request"] == ""
