"""Faults that somebody else puts on while `lab run` measures spoil the run, and are named."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.run.checks import strange_mark
from lab.run.play import FaultsOn, Played
from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import Fault, ProcessFault
from lab.spec.system import Link
from loadgen import Sample, Samples
from tests.lab.small_experiment import EXPERIMENT, LabProcess, rows, run_lab, write_experiment

SECONDS = 'load: {request: "GET {rates.url}/rates/USD", rate: 40/s, for: 3s, timeout: 300ms}'
TABLE = (
    EXPERIMENT[: EXPERIMENT.index("  half fail")]
    .replace(EXPERIMENT.splitlines()[2], SECONDS)
    .replace("warmup: 1", "warmup: 0")
    .replace("repeats: 2", "repeats: 1")
)
WITH_A_LINK = TABLE + "  late: [{link: load -> rates, delay: 1ms}]\n"
WITH_CHAOS = TABLE + "  late: [{chaos: rates, delay: 1ms}]\n"
TIMELINE = (
    TABLE[: TABLE.index("faults:")].replace(", rate: 40/s, for: 3s", "").replace("warmup: 0\n", "")
    + """\
timeline:
  duration: 3 s
  rate: 40/s
  events:
    - {at: 300ms, for: 300ms, name: early, faults: [{chaos: rates, delay: 1ms}]}
"""
)


class SomebodyElse:
    """Somebody on the same machine while the lab measures."""

    def __init__(self, lab: LabProcess) -> None:
        self._lab = lab

    def _argument(self, program: str, option: str) -> str:
        command = Path(f"/proc/{self._lab.find(program)}/cmdline").read_bytes().split(b"\0")
        return command[command.index(option.encode()) + 1].decode()

    def chaos(self) -> str:
        """Return where the service's injector is."""
        return f"http://127.0.0.1:{self._argument('rates_api', '--port')}/chaos"

    def proxy(self) -> str:
        """Return where the proxy's faults are."""
        return f"http://{self._argument('fault_proxy', '--control')}/faults"


def measure(
    folder: Path, experiment: str, *arguments: str, after: str = "steady_state.held"
) -> tuple[LabProcess, SomebodyElse, Path]:
    """Start the lab and return once its load is about to be sent."""
    file = write_experiment(folder, experiment)
    lab = LabProcess("run", file, "--out", folder / "out", *arguments)
    latest = folder / "out" / "small" / "latest"
    lab.wait_for(after, latest)
    return lab, SomebodyElse(lab), latest


@pytest.mark.integration
def test_a_fault_at_the_service_in_a_healthy_cell(tmp_path: Path) -> None:
    lab, somebody, latest = measure(tmp_path, TABLE)
    httpx.post(somebody.chaos(), json={"failure": 1, "seed": 1}).raise_for_status()
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "somebody else's fault is on at rates (failure=1.0)"
    assert done.returncode == 3
    assert f"NOT COUNTED: {run['note']}" in done.stderr


@pytest.mark.integration
def test_a_fault_that_has_come_and_gone_during_the_load(tmp_path: Path) -> None:
    lab, somebody, latest = measure(tmp_path, TABLE)
    httpx.post(somebody.chaos(), json={"delayMs": 1}).raise_for_status()
    httpx.delete(somebody.chaos()).raise_for_status()
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "somebody else has put a fault on at rates"
    assert done.returncode == 3


@pytest.mark.integration
def test_a_fault_in_place_of_the_labs_own(tmp_path: Path) -> None:
    only = ("--only", "fault=late")
    lab, somebody, latest = measure(tmp_path, WITH_CHAOS, *only, after="fault.applied")
    httpx.post(somebody.chaos(), json={"delayMs": 1, "jitterMs": 1}).raise_for_status()
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "somebody else's fault is on at rates (delayMs=1.0, jitterMs=1.0)"
    assert done.returncode == 3


@pytest.mark.integration
@pytest.mark.parametrize("fault", ["none", "late"])
def test_a_fault_on_a_link(tmp_path: Path, fault: str) -> None:
    lab, somebody, latest = measure(tmp_path, WITH_A_LINK, "--only", f"fault={fault}")
    document = {"kind": "latency", "delayMs": 1}
    httpx.post(somebody.proxy(), json=document).raise_for_status()
    done = lab.finish()
    [run] = rows(latest / "runs.csv")

    assert run["note"] == "somebody else's fault is on load -> rates (latency)"
    assert done.returncode == 3


@pytest.mark.integration
def test_a_fault_that_has_come_and_gone_in_a_timeline(tmp_path: Path) -> None:
    lab, somebody, latest = measure(tmp_path, TIMELINE, after="event.off")
    httpx.post(somebody.chaos(), json={"delayMs": 1}).raise_for_status()
    httpx.delete(somebody.chaos()).raise_for_status()
    done = lab.finish()
    notes = {row["note"] for row in rows(latest / "runs.csv")}

    [note] = notes
    assert note.startswith("somebody else")  # a look may have fallen between the two
    assert " at rates" in note
    assert ", seen at " in note
    assert done.returncode == 3


@pytest.mark.integration
def test_an_event_of_a_timeline_that_touched_nothing_is_named(tmp_path: Path) -> None:
    typo = TIMELINE.replace("delay: 1ms}", "delay: 1ms, match: {path: /typo}}")
    done = run_lab("run", write_experiment(tmp_path, typo), "--out", tmp_path / "out")
    found = {row["fault"]: row for row in rows(tmp_path / "out/small/latest/runs.csv")}

    nothing = "'early': the fault touched nothing (chaos at rates, match path /typo)"
    assert {row["note"] for row in found.values()} == {nothing}
    assert (found["early"]["touched"], found["whole"]["touched"]) == ("0", "")
    assert done.returncode == 3


@pytest.mark.integration
def test_what_an_event_of_a_timeline_touched_stands_in_its_row(tmp_path: Path) -> None:
    done = run_lab("run", write_experiment(tmp_path, TIMELINE), "--out", tmp_path / "out")
    latest = tmp_path / "out" / "small" / "latest"
    found = {row["fault"]: row for row in rows(latest / "runs.csv")}

    assert int(found["early"]["touched"]) > 0
    assert found["after early"]["touched"] == ""
    assert {row["note"] for row in found.values()} in ({""}, {found["whole"]["note"]})
    assert "Touched" in done.stdout


@pytest.mark.integration
@pytest.mark.parametrize("experiment", ["table", "timeline"])
def test_a_service_of_several_workers_is_refused_with_advice(
    tmp_path: Path, experiment: str
) -> None:
    system = """\
services:
  rates:
    run: "{python} -m uvicorn tests.lab.shared_port:app --port {port} --workers 2"
    ready: /health
    chaos: /chaos
    inherit: [LAB_TEST_MARK]
"""
    text = WITH_CHAOS if experiment == "table" else TIMELINE
    done = run_lab("run", write_experiment(tmp_path, text, system), "--out", tmp_path / "out")

    assert done.returncode == 3
    assert "several processes answer for rates, each with a fault injector" in done.stderr
    assert "run it with one worker, or start each worker as a service of its own" in done.stderr


@pytest.mark.integration
def test_what_the_lab_does_to_a_service_itself_is_nobody_elses(tmp_path: Path) -> None:
    experiment = (
        EXPERIMENT[: EXPERIMENT.index("  half fail")]
        + """\
  restarted: [{restart: rates}]
  flapping: [{flap: rates, down: 20ms, up: 50ms}]
  paused: [{pause: rates}]
  short: [{chaos: rates, delay: 1ms}, {files: rates, spare: 8}]
  three: [{chaos: rates, delay: 1ms}, {link: load -> rates, latency: 1ms},
    {link: load -> rates, refuse: true}]
override: [{fault: paused, requests: 8}]
"""
    )
    done = run_lab("run", write_experiment(tmp_path, experiment), "--out", tmp_path / "out")
    notes = {row["fault"]: row["note"] for row in rows(tmp_path / "out/small/latest/runs.csv")}

    assert done.returncode == 3, done.stderr
    nothing = "the fault touched nothing (chaos at rates; latency on load -> rates)"
    assert notes.pop("three") == nothing  # nobody gets as far
    assert notes == dict.fromkeys(notes, "")
    assert len(notes) == 5


LINK = Link(source="load", target="rates")
HALF = ChaosFault(service="rates", document={"failure": 0.5, "delayMs": 0, "body": "drip"})


class Known:
    """An injector that writes its marks as `chaos` does, or may not."""

    def __init__(self, *, names_its_marks: bool) -> None:
        self.names_its_marks = names_its_marks


def marked(*marks: str) -> Samples:
    samples = Samples()
    for mark in ("", *marks):
        samples.add(Sample(0.0, 0.0, 0.1, "USD", 200, "", fault=mark))
    return samples


def strange(marks: Iterable[str], *faults: Fault, names_its_marks: bool = True) -> str:
    injectors: Any = {"rates": Known(names_its_marks=names_its_marks)}
    on = FaultsOn(name="sick", faults=faults, since_applied=(), in_run=(), are_still_on=True)
    return strange_mark(Played(parts={"": marked(*marks)}, faults=[on]), injectors)


@pytest.mark.parametrize(
    ("marks", "faults"),
    [
        ((), ()),
        (("failure", "failure, body=drip"), (HALF,)),
        (("status",), (LinkFault(link=LINK, document={"kind": "status", "status": 503}),)),
        (("failure, status",), (HALF, LinkFault(link=LINK, document={"kind": "status"}))),
        (("anything",), (ExtensionFault(kind="own", service="x", code="", options={}),)),
    ],
)
def test_marks_of_the_cells_own_faults_are_nobody_elses(
    marks: tuple[str, ...], faults: tuple[Fault, ...]
) -> None:
    assert strange(marks, *faults) == ""


@pytest.mark.parametrize(
    ("marks", "faults", "named"),
    [
        (("failure",), (), "failure"),
        (("delay",), (HALF,), "delay"),  # its delay is 0
        (("failure, body=empty",), (HALF,), "body=empty"),
        (("latency",), (LinkFault(link=LINK, document={"kind": "latency"}),), "latency"),
        (("status", "hang"), (ProcessFault(kind="stop", service="x"),), "hang, status"),
    ],
)
def test_a_mark_that_no_fault_of_the_cell_makes_is_named(
    marks: tuple[str, ...], faults: tuple[Fault, ...], named: str
) -> None:
    said = f"replies bear the mark of somebody else's fault ({named})"
    assert strange(marks, *faults) == said


def test_an_injector_of_another_make_may_mark_its_replies_as_it_likes() -> None:
    assert strange(["latency"], HALF, names_its_marks=False) == ""
