"""`kill -9` of the lab while faults are applied, on, or reverted: each kind is over within 6 s."""

import json
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from lab.spec.faults import PROCESS_KINDS
from tests.lab.small_experiment import SYSTEM
from tests.lab.up.running_lab import RunningLab, get, lab_up, until
from tests.service_process import service

pytestmark = pytest.mark.integration

OVER_WITHIN_S = 6.0
Asked = tuple[str, dict[str, object] | None]  # a path of the lab's API, and a document for it
OWN = ("paused", "stopped", "killed", "restarted", "flapping")
SERVER = """\
  {name}:
    run: "{{python}} -m http.server {{port}} --bind 127.0.0.1"
    inherit: [LAB_TEST_MARK]
"""
FAULTS: tuple[dict[str, object], ...] = (
    {"chaos": "foreign", "failure": 1},
    {"chaos": "rates", "failure": 1},
    {"link": "load -> foreign", "latency": "100ms"},
    {"link": "load -> rates", "refuse": True},
    {"files": "rates"},
    {"burn": "rates", "cores": 1},
    {"memory": "rates", "size": "64 MiB"},
    {"flush": "redis"},
    {"pause": "paused"},
    {"stop": "stopped"},
    {"kill": "killed"},
    {"restart": "restarted"},
    {"flap": "flapping", "down": "100ms", "up": "100ms"},
)
KINDS = {next(iter(fault)) for fault in FAULTS}


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    """Return the URL of a service that outlives the lab, with an injector of its own."""
    with service("rates_api", CHAOS_ENABLED="true") as running:
        yield running.url


@pytest.fixture
def lab(tmp_path: Path, runtime: Path, foreign: str) -> Iterator[RunningLab]:
    servers = "".join(SERVER.format(name=name) for name in OWN)
    more = f"  redis: {{backing: redis}}\n  foreign: {{url: '{foreign}', chaos: /chaos}}\n"
    links = ("load -> foreign", "load -> rates")
    with lab_up(tmp_path, runtime, SYSTEM + servers + more, links=links) as running:
        yield running


@contextmanager
def asked_at_once(lab: RunningLab, method: str, asked: Sequence[Asked]) -> Iterator[None]:
    """Send the lab all requests at once, and wait for what becomes of them when the block ends."""

    def ask(path: str, document: object) -> None:
        with suppress(httpx.HTTPError):  # the lab is killed meanwhile
            lab.ask(method, path, **({"json": document} if document else {}))

    with ThreadPoolExecutor(len(asked)) as threads:
        for each in asked:
            threads.submit(ask, *each)
        yield


def kinds(lab: RunningLab, event: str) -> set[str]:
    """Return of which kinds of fault the journal tells *event*."""
    lines = map(json.loads, (lab.out / "events.jsonl").read_text().splitlines())
    return {each["kind"] for each in lines if each["event"] == event}


def wait_for(lab: RunningLab, event: str, times: int) -> None:
    """Return as soon as the journal tells *event* so often: no moment fits every machine."""
    give_up_s = time.monotonic() + OVER_WITHIN_S
    while (lab.out / "events.jsonl").read_text().count(event) < times:
        assert time.monotonic() < give_up_s, f"{event} was not told {times} times"
        time.sleep(0.001)


def kill(lab: RunningLab) -> None:
    lab.process.process.send_signal(signal.SIGKILL)
    lab.process.process.wait(10)


def assert_all_is_over(lab: RunningLab, foreign: str, since_s: float) -> None:
    def is_well() -> bool:
        return get(f"{foreign}/chaos").json()["on"] is False

    assert lab.process.survivors_after(OVER_WITHIN_S) == []
    assert until(is_well, within_s=OVER_WITHIN_S - (time.monotonic() - since_s))


def test_every_kind_of_fault_is_among_them() -> None:
    assert {"chaos", "link", *PROCESS_KINDS} == KINDS


@pytest.mark.parametrize("applied", [0, 1, 4])
def test_while_they_are_applied(lab: RunningLab, foreign: str, applied: int) -> None:
    with asked_at_once(lab, "POST", [("/faults", fault) for fault in FAULTS]):
        wait_for(lab, "fault.applied", applied)
        kill(lab)
        killed_s = time.monotonic()
        assert_all_is_over(lab, foreign, killed_s)

    assert kinds(lab, "fault.applied") < KINDS  # else the moment was too late


@pytest.mark.parametrize("reverted", [None, 1])
def test_while_they_are_on_or_reverted(lab: RunningLab, foreign: str, reverted: int | None) -> None:
    with asked_at_once(lab, "POST", [("/faults", fault) for fault in FAULTS]):
        pass
    assert kinds(lab, "fault.applied") == KINDS
    assert get(f"{foreign}/chaos").json()["on"] is True
    beside = " ".join(lab.process.survivors())
    assert all(program in beside for program in ("while True", "memory_holder", "fault_proxy"))

    on = [(f"/faults/{fault['id']}", None) for fault in lab.faults()]
    with asked_at_once(lab, "DELETE", on if reverted is not None else [("/faults/none", None)]):
        wait_for(lab, "fault.reverted", reverted or 0)
        kill(lab)
        killed_s = time.monotonic()
        assert_all_is_over(lab, foreign, killed_s)

    assert kinds(lab, "fault.reverted") < KINDS


def test_a_fault_that_its_service_hears_of_only_after_the_kill_ends_by_its_lease(
    tmp_path: Path, runtime: Path
) -> None:
    with (
        service("rates_api", CHAOS_ENABLED="true") as slow,
        lab_up(
            tmp_path, runtime, f"services: {{slow: {{url: '{slow.url}', chaos: /chaos}}}}"
        ) as lab,
    ):
        slow.process.send_signal(signal.SIGSTOP)
        with asked_at_once(lab, "POST", [("/faults", {"chaos": "slow", "failure": 1})]):
            time.sleep(0.3)
            kill(lab)
            slow.process.send_signal(signal.SIGCONT)
            resumed_s = time.monotonic()

        assert_all_is_over(lab, slow.url, resumed_s)
