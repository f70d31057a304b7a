"""The keeper with real processes: nothing that it started outlives the lab."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from lab.keeper import Keeper, KeeperError, OwnedProcess

pytestmark = pytest.mark.integration

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    *(sys.executable, "-uc"),
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf'); time.sleep(60)",
]


def is_gone(pid: int) -> bool:
    """Tell whether the process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while it is read
        return True


def wait_until(condition: Callable[[], bool], *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper() as keeper:
        yield keeper


async def start(keeper: Keeper, argv: list[str], folder: Path) -> OwnedProcess:
    return await keeper.start(argv, env=dict(os.environ), cwd=folder, log=folder / "log")


async def test_a_process_runs_with_its_environment_folder_and_log(
    keeper: Keeper, tmp_path: Path
) -> None:
    program = "import os; print(os.environ['A'], os.getcwd())"
    process = await keeper.start(
        [sys.executable, "-c", program], env={"A": "b"}, cwd=tmp_path, log=tmp_path / "log"
    )

    assert await process.wait() == 0
    assert (tmp_path / "log").read_text() == f"b {tmp_path}\n"


async def test_a_command_that_cannot_run_is_an_error_with_its_name(
    keeper: Keeper, tmp_path: Path
) -> None:
    with pytest.raises(KeeperError, match=r"cannot start no-such-program: .*No such file"):
        await start(keeper, ["no-such-program"], tmp_path)


async def test_stop_ends_a_paused_process_within_its_grace(keeper: Keeper, tmp_path: Path) -> None:
    process = await start(keeper, SLEEPER, tmp_path)
    await keeper.signal(process, signal.SIGSTOP)

    assert await keeper.stop(process, grace_s=5) == -signal.SIGTERM


async def test_stop_kills_what_does_not_listen(keeper: Keeper, tmp_path: Path) -> None:
    process = await start(keeper, STUBBORN, tmp_path)
    log = tmp_path / "log"
    assert await asyncio.to_thread(wait_until, lambda: "deaf" in log.read_text(), within_s=10)

    assert await keeper.stop(process, grace_s=0.1) == -signal.SIGKILL


async def test_the_children_of_a_process_end_with_it(keeper: Keeper, tmp_path: Path) -> None:
    program = f"import subprocess, sys;print(subprocess.Popen({SLEEPER!r}).pid)"
    process = await start(keeper, [sys.executable, "-c", program], tmp_path)
    await process.wait()
    grandchild = int((tmp_path / "log").read_text())

    assert wait_until(lambda: is_gone(grandchild), within_s=5)


async def test_leaving_the_block_ends_all_that_runs(tmp_path: Path) -> None:
    async with Keeper() as keeper:
        running = await start(keeper, SLEEPER, tmp_path)
        paused = await start(keeper, STUBBORN, tmp_path)
        await keeper.signal(paused, signal.SIGSTOP)

    assert is_gone(running.pid)
    assert is_gone(paused.pid)


async def test_when_the_keeper_is_killed_its_processes_go_and_are_reported_ended(
    tmp_path: Path,
) -> None:
    async with Keeper() as keeper:
        process = await start(keeper, SLEEPER, tmp_path)
        keeper._process.kill()

        assert await process.wait() == -signal.SIGKILL
        assert wait_until(lambda: is_gone(process.pid), within_s=5)
        with pytest.raises(KeeperError, match="start the run again"):
            await start(keeper, SLEEPER, tmp_path)


def test_when_the_lab_is_killed_nothing_is_left_not_even_a_paused_process(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, pathlib, signal, sys
from lab.keeper import Keeper
async def main():
    async with Keeper() as keeper:
        folder = pathlib.Path({str(tmp_path)!r})
        for number, argv in enumerate([{SLEEPER!r}, {STUBBORN!r}]):
            child = await keeper.start(argv, env=dict(os.environ), cwd=folder, log=folder / "log")
            print(child.pid, flush=True)
        await keeper.signal(child, signal.SIGSTOP)
        print(keeper._process.pid, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    lab = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with lab:
        assert lab.stdout is not None
        pids = [int(lab.stdout.readline()) for _ in range(3)]
        lab.kill()

    assert wait_until(lambda: all(map(is_gone, pids)), within_s=5)
