"""A run that is interrupted at any moment leaves no process, and every finished run on disk."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.lab.interrupted import assert_nothing_is_left_or_lost
from tests.lab.small_experiment import LabProcess, write_experiment

pytestmark = pytest.mark.integration

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
WHOLE_RUN_S = 12.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    count = metafunc.config.getoption("--interruptions")
    if "moment_s" in metafunc.fixturenames:
        chance = random.Random(184)
        moments = [(SIGNALS[n % 3], chance.uniform(0, WHOLE_RUN_S)) for n in range(count)]
        names = [f"{number.name}-{moment_s:.2f}s" for number, moment_s in moments]
        metafunc.parametrize(("number", "moment_s"), moments, ids=names)


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
