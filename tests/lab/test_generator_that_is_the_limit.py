"""Figures of the lab's generator are not taken for those of the system."""

import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import NoValidData
from lab.run.checks import check_steady_state
from loadgen import RunReport, Sample, Samples
from tests.lab.small_experiment import EXPERIMENT, LabProcess, rows, run_lab, write_experiment

pytestmark = pytest.mark.integration

NOT_OF_THE_SYSTEM = "figures of the generator and not of the system: "
TABLE = EXPERIMENT[: EXPERIMENT.index("  half fail")].replace("warmup: 1\nrepeats: 2", "repeats: 1")
OPEN = TABLE.replace("requests: 40, tasks: 4", "for: 4 s, rate: 50/s")
CLOSED = TABLE.replace("requests: 40, tasks: 4", "for: 4 s, tasks: 2")
TIMELINE = TABLE[: TABLE.index("faults:")].replace(", requests: 40, tasks: 4", "") + (
    "timeline: {duration: 4 s, rate: 50/s}\n"
)


def _start(folder: Path, experiment: str) -> tuple[LabProcess, Path]:
    lab = LabProcess("run", write_experiment(folder, experiment), "--out", folder / "out")
    return lab, folder / "out" / "small" / "latest"


def _found(lab: LabProcess, words: str) -> int:
    deadline = time.monotonic() + 30
    while True:
        try:
            return lab.find(words)
        except ValueError:
            assert time.monotonic() < deadline, words
            time.sleep(0.02)


def _stop_and_go(pids: list[int], seconds: float) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def _generator(lab: LabProcess) -> list[int]:
    return [lab.find("loadgen.worker")]


def _everything(lab: LabProcess) -> list[int]:
    """Return all processes of the run, the lab itself and its services, as on a paused machine."""
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdecimal() and lab._is_marked(process)
    ]


@pytest.mark.parametrize("stopped", [_generator, _everything], ids=["generator", "machine"])
@pytest.mark.parametrize("experiment", [OPEN, CLOSED, TIMELINE], ids=["open", "closed", "timeline"])
def test_a_run_in_which_the_generator_stood_still_does_not_count(
    tmp_path: Path, experiment: str, stopped: Callable[[LabProcess], list[int]]
) -> None:
    lab, latest = _start(tmp_path, experiment)
    lab.wait_for("steady_state.held", latest)
    time.sleep(0.5)  # the load lasts for 4 s, and a stall before it would not be in it
    _stop_and_go(stopped(lab), 2)
    done = lab.finish()
    run, *_ = rows(latest / "runs.csv")

    assert run["note"].startswith(f"{NOT_OF_THE_SYSTEM}its event loop stood still ")
    assert done.returncode == 3
    assert f"NOT COUNTED: {NOT_OF_THE_SYSTEM}" in done.stderr


def test_a_run_for_which_the_generator_has_too_few_descriptors_does_not_count(
    tmp_path: Path,
) -> None:
    many = TABLE.replace("requests: 40, tasks: 4, timeout: 300ms", "requests: 200, tasks: 100")
    lab, latest = _start(tmp_path, many)
    resource.prlimit(_found(lab, "loadgen.worker"), resource.RLIMIT_NOFILE, (50, 50))
    done = lab.finish()
    [run] = rows(latest / "runs.csv")
    not_sent = int(run["generator_error"])

    assert done.returncode == 3
    assert int(run["USD"]) + int(run["error"]) + not_sent == 200
    assert not_sent > 0
    assert run["note"].startswith(
        f"{NOT_OF_THE_SYSTEM}it could not send {not_sent} of 200 requests: too many open files "
        "(limit 50); raise ulimit -n"
    )


def test_the_rate_of_an_open_load_is_the_one_that_was_sent(tmp_path: Path) -> None:
    few = OPEN.replace("for: 4 s, rate: 50/s", "for: 2 s, rate: 2/s")
    run_lab("run", write_experiment(tmp_path, few), "--out", tmp_path / "out")
    [run] = rows(tmp_path / "out" / "small" / "latest" / "runs.csv")

    assert (run["requests"], run["asked_per_s"], run["requests_per_s"]) == ("4", "2.0", "2.0")


def test_a_steady_state_that_the_generator_could_not_look_at_is_not_blamed_on_the_system() -> None:
    samples = Samples()
    samples.add(Sample(0, None, 1, "generator_error", None, "no free local port"))
    samples.report = RunReport(
        began_s=0,
        duration_s=1,
        cpu_share=0.1,
        loop_lag_p99_ms=0,
        loop_lag_max_ms=0,
        asked_per_s=None,
        taken_per_s=None,
        connections=0,
        requests=1,
        unsent={"no free local port": 1},
    )

    with pytest.raises(NoValidData, match="before x: it could not send 1 of 1 requests: no free"):
        check_steady_state(samples, before="x", logs=Path("logs"))
