"""A run that is interrupted at any moment leaves no process, and every finished run on disk."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.lab.small_experiment import LabProcess, rows, write_experiment

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


def test_nothing_is_left_and_nothing_is_lost(
    tmp_path: Path, number: signal.Signals, moment_s: float
) -> None:
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out")
    time.sleep(moment_s)
    lab.process.send_signal(number)
    done = lab.finish()

    if (tmp_path / "out").exists():  # else it ended while Python itself was starting
        assert done.returncode in ({-signal.SIGKILL, 0} if number == signal.SIGKILL else {130, 0})
        assert "Traceback" not in done.stderr
    assert survivors_after(lab, GONE_WITHIN_S) == []
    assert runs_on_disk(tmp_path / "out") >= done.stderr.count(", run ")


def test_a_second_ctrl_c_ends_the_clean_up_and_still_leaves_nothing(tmp_path: Path) -> None:
    lab = LabProcess("run", write_experiment(tmp_path), "--out", tmp_path / "out")
    time.sleep(3)
    lab.process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    lab.process.send_signal(signal.SIGINT)
    done = lab.finish(10)

    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert survivors_after(lab, GONE_WITHIN_S) == []


def survivors_after(lab: LabProcess, within_s: float) -> list[str]:
    deadline = time.monotonic() + within_s
    while (left := lab.survivors()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


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
