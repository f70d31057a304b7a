"""Circuits shared by processes of the operating system."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.valkey import valkey

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
SOON_S = 10.0


class Worker:
    """One of the processes; see `sharing_process`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def does(self, command: str) -> str:
        """Return the state that the command leads to."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def comes_to_be(self, state: str) -> bool:
        """Tell whether the circuit is soon in that state."""
        give_up_at_s = time.monotonic() + SOON_S
        while time.monotonic() < give_up_at_s:
            if self.does("state") == state:
                return True
            time.sleep(0.02)
        return False


@contextmanager
def worker(url: str) -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.resilience.sharing.sharing_process", url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Worker(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[Worker]]:
    with valkey(tmp_path) as server, ExitStack() as stack:
        yield [stack.enter_context(worker(server.url)) for _ in range(3)]


def test_processes_open_and_close_together_though_the_one_that_opened_is_killed(
    workers: list[Worker],
) -> None:
    first, second, third = workers
    assert first.does("fail") == "open"
    assert second.comes_to_be("open")
    first.process.kill()
    assert third.comes_to_be("open")
    assert second.does("trial") == "closed"
    assert third.comes_to_be("closed")


def test_isolation_and_reset_by_hand_leave_the_other_processes_alone(
    workers: list[Worker],
) -> None:
    isolated, second, third = workers
    assert isolated.does("isolate") == "open"
    assert second.does("fail") == "open"
    assert third.comes_to_be("open")
    assert isolated.does("reset") == "closed"
    assert [each.does("exchange") for each in workers] == ["closed", "open", "open"]
