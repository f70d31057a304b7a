"""Figures of the lab's own proxy on a link are not taken for those of the system."""

import os
import resource
import signal
import time
from pathlib import Path

import pytest

from lab.errors import NoValidData
from lab.links.place import ProxyState
from lab.run.checks import check_steady_state
from lab.run.proxy_states import proxy_limits
from lab.spec.system import Link
from loadgen import Sample, Samples
from tests.lab.small_experiment import EXPERIMENT, LabProcess, rows, write_experiment

NOT_OF_THE_SYSTEM = "figures of the proxy on load -> rates and not of the system: "
HEAD = EXPERIMENT[: EXPERIMENT.index("faults:")].replace("warmup: 1\nrepeats: 2", "repeats: 1")
SLOW = "faults: {slow: [{link: load -> rates, latency: 1ms}]}\n"
LONG = HEAD.replace("requests: 40, tasks: 4, timeout: 300ms", "for: 4 s, rate: 50/s, timeout: 2 s")
MANY = HEAD.replace("requests: 40, tasks: 4, timeout: 300ms", "requests: 300, tasks: 100")
LINK = Link(source="load", target="rates")
WELL = ProxyState(stalled_s=1.0, own_failures={"no memory": 2})


def _start(folder: Path, experiment: str) -> tuple[LabProcess, Path]:
    lab = LabProcess("run", write_experiment(folder, experiment), "--out", folder / "out")
    return lab, folder / "out" / "small" / "latest"


@pytest.mark.integration
def test_a_run_in_which_the_proxy_stood_still_does_not_count(tmp_path: Path) -> None:
    lab, latest = _start(tmp_path, LONG + SLOW)
    lab.wait_for("fault.applied", latest)
    time.sleep(1)  # the load lasts for 4 s, and a stall before it would not be in it
    proxy = lab.find("fault_proxy")
    os.kill(proxy, signal.SIGSTOP)
    time.sleep(0.7)
    os.kill(proxy, signal.SIGCONT)
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"].startswith(f"{NOT_OF_THE_SYSTEM}it stood still, ")
    assert done.returncode == 3
    assert f"NOT COUNTED: {NOT_OF_THE_SYSTEM}" in done.stderr


@pytest.mark.integration
def test_a_run_for_which_the_proxy_has_too_few_files_does_not_count(tmp_path: Path) -> None:
    few = "steady_state: {requests: 1, request: 'GET {rates.url}/health'}\n"
    lab, latest = _start(tmp_path, MANY + few + SLOW)
    resource.prlimit(lab.process.pid, resource.RLIMIT_NOFILE, (150, 150))
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"].startswith(f"{NOT_OF_THE_SYSTEM}it could not open ")
    assert run["note"].endswith(": too many open files")
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("after", "limit"),
    [
        (WELL, ""),
        (ProxyState(stalled_s=1.09, own_failures=WELL.own_failures), ""),
        (
            ProxyState(stalled_s=1.1, own_failures=WELL.own_failures),
            "it stood still, 0.10 s in all",
        ),
        (
            ProxyState(stalled_s=1.0, own_failures={"no memory": 2, "too many open files": 3}),
            "it could not open 3 connections: too many open files",
        ),
        (
            ProxyState(stalled_s=1.0, own_failures={"no memory": 3}),
            "it could not open 1 connection: no memory",
        ),
        (None, "it does not answer any more"),
    ],
    ids=["well", "short", "stalled", "no files", "no memory", "gone"],
)
def test_a_proxy_is_judged_by_what_it_did_in_the_run(after: ProxyState | None, limit: str) -> None:
    limits = proxy_limits({LINK: WELL}, {LINK: after}, over_s=10)

    assert limits == (NOT_OF_THE_SYSTEM + limit if limit else "")


def test_a_place_that_tells_nothing_of_itself_is_not_judged() -> None:
    assert not proxy_limits({LINK: None}, {LINK: None}, over_s=10)


def test_a_steady_state_that_a_proxy_failed_is_not_blamed_on_the_system() -> None:
    samples = Samples()
    samples.add(Sample(0, 0, 1, "error", None, "closed without a reply"))

    with pytest.raises(NoValidData, match=r"^no steady state before x: figures of the proxy"):
        check_steady_state(
            samples, before="x", logs=Path("logs"), proxies=f"{NOT_OF_THE_SYSTEM}it ..."
        )
