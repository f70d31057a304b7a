"""Interrupts that meet a clean-up, a hung helper process, or services that hide their children."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.lab.interrupted import GONE_WITHIN_S, assert_nothing_is_left_or_lost
from tests.lab.small_experiment import EXPERIMENT, SYSTEM, LabProcess, write_experiment

pytestmark = pytest.mark.integration


def test_a_second_ctrl_c_ends_the_clean_up_and_still_leaves_nothing(tmp_path: Path) -> None:
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out")
    lab.wait_for("fault.applied", tmp_path / "out" / "small" / "latest")
    lab.process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    lab.process.send_signal(signal.SIGINT)

    assert_nothing_is_left_or_lost(lab, signal.SIGINT, tmp_path / "out")


@pytest.mark.parametrize("words", ["lab.keeper.process", "loadgen.worker"])
def test_ctrl_c_is_heard_while_a_process_of_the_lab_hangs(tmp_path: Path, words: str) -> None:
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out")
    lab.wait_for("steady_state.held", tmp_path / "out" / "small" / "latest")
    hung = lab.find(words)
    os.kill(hung, signal.SIGSTOP)
    lab.process.send_signal(signal.SIGINT)

    assert_nothing_is_left_or_lost(lab, signal.SIGINT, tmp_path / "out")


def test_one_ctrl_c_does_not_wait_for_a_stopped_service_to_come_back(tmp_path: Path) -> None:
    """It would be started only to be stopped."""
    only = ("--only", "fault=stopped")
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out", *only)
    lab.wait_for("fault.applied", tmp_path / "out" / "small" / "latest")
    lab.process.send_signal(signal.SIGINT)
    lab.finish()
    log = (tmp_path / "out" / "small" / "latest" / "logs" / "rates.log").read_text()

    assert log.count("service.started") == 1


WRAPPED = SYSTEM.replace(
    '"{python} -m rates_api --port {port}"',
    "\"sh -c 'setsid sleep 300 & {python} -m rates_api --port {port}; true'\"",
)


@pytest.mark.parametrize("victim", ["nobody", "the lab"])
def test_descendants_that_left_their_group_are_found_too(tmp_path: Path, victim: str) -> None:
    file = write_experiment(tmp_path, EXPERIMENT, WRAPPED)
    only = ("--only", "fault=none", "--repeats", "1")
    lab = LabProcess("run", file, "--out", tmp_path / "out", *only)
    lab.wait_for("steady_state.held", tmp_path / "out" / "small" / "latest")
    if victim == "the lab":
        lab.process.kill()
    lab.finish()

    assert lab.survivors_after(GONE_WITHIN_S) == []


def test_when_the_keeper_is_killed_the_run_ends_and_leaves_nothing(tmp_path: Path) -> None:
    wrapped = WRAPPED.replace("setsid sleep 300", "sleep 300")
    file = write_experiment(tmp_path, EXPERIMENT, wrapped)
    lab = LabProcess("run", file, "--out", tmp_path / "out", "--only", "fault=paused")
    lab.wait_for("fault.applied", tmp_path / "out" / "small" / "latest")
    os.kill(lab.find("lab.keeper.process"), signal.SIGKILL)
    done = lab.finish()

    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "the process that owns the services has ended" in done.stderr
    assert lab.survivors_after(GONE_WITHIN_S) == []
