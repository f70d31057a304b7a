"""A run that is interrupted at any moment leaves no process, and every finished run on disk."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.lab.small_experiment import EXPERIMENT, SYSTEM, LabProcess, rows, write_experiment

pytestmark = pytest.mark.integration

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
WHOLE_RUN_S = 12.0
GONE_WITHIN_S = 5.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    count = metafunc.config.getoption("--interruptions")
    if "moment_s" in metafunc.fixturenames:
        chance = random.Random(184)
        moments = [(SIGNALS[n % 3], chance.uniform(0, WHOLE_RUN_S)) for n in range(count)]
        names = [f"{number.name}-{moment_s:.2f}s" for number, moment_s in moments]
        metafunc.parametrize(("number", "moment_s"), moments, ids=names)


def assert_nothing_is_left_or_lost(lab: LabProcess, number: signal.Signals, out: Path) -> None:
    done = lab.finish()
    if out.exists():  # else it ended while Python itself was starting
        assert done.returncode in ({-signal.SIGKILL, 0} if number == signal.SIGKILL else {130, 0})
        assert "Traceback" not in done.stderr
    assert lab.survivors_after(GONE_WITHIN_S) == []
    assert runs_on_disk(out) >= done.stderr.count(", run ")


def test_at_random_moments(tmp_path: Path, number: signal.Signals, moment_s: float) -> None:
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out")
    time.sleep(moment_s)
    lab.process.send_signal(number)

    assert_nothing_is_left_or_lost(lab, number, tmp_path / "out")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("fault", ["slow", "paused", "stopped"])
def test_while_a_fault_is_on(tmp_path: Path, number: signal.Signals, fault: str) -> None:
    only = ("--only", f"fault={fault}")
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out", *only)
    lab.wait_for("fault.applied", tmp_path / "out" / "small" / "latest")
    lab.process.send_signal(number)

    assert_nothing_is_left_or_lost(lab, number, tmp_path / "out")


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


def runs_on_disk(out: Path) -> int:
    """Count the rows of runs.csv, each of which must have all its requests."""
    if not (out / "small" / "latest" / "runs.csv").exists():
        return 0
    runs = rows(out / "small" / "latest" / "runs.csv")
    requests = rows(out / "small" / "latest" / "requests.csv.gz")
    for run in runs:
        own = [r for r in requests if (r["fault"], r["repeat"]) == (run["fault"], run["repeat"])]
        assert len(own) == int(run["requests"])
    return len(runs)
