"""Locust's master and workers as processes that end with their starter, whatever ends it.

Each is started in a session, a folder and a bare environment of its own: Locust reads settings
from the current folder, the home folder and every `LOCUST_…` variable. Each ends when its standard
input does, which is when this process closes it or dies.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from loadgen.driver import WorkerError, end_child

_LOCUSTFILE = Path(__file__).with_name("locustfile.py")
_PROJECT = _LOCUSTFILE.parents[2]
_LONGEST_LINE_BYTES = 2**26
_GOODBYE_S = 5.0
_LOG_LINES = 5
_FORGOTTEN = ("LOCUST_", "PYTHON")
# How long a start waits to see all users at work: those of a short load are gone before it looks.
_PAUSE = "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP"


class LocustFailedError(WorkerError):
    """Locust could not carry out the load; the message says what happened."""


class LocustProcess:
    """A running Locust, and what it logged."""

    def __init__(self, name: str, process: Process, log: Path) -> None:
        self.name = name
        self.process = process
        self._log = log

    def write(self, line: bytes) -> None:
        """Hand *line* over on its standard input."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        self.process.stdin.write(line)

    def failure(self) -> LocustFailedError:
        """Return the error of its untimely end, with the last lines that it logged."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        words = "; ".join(line for line in lines[-_LOG_LINES:] if line.strip())
        code = self.process.returncode
        said = words or "it wrote nothing"
        return LocustFailedError(f"Locust's {self.name} ended with code {code}: {said}")


@asynccontextmanager
async def start_worker(name: str, folder: Path, port: int) -> AsyncIterator[LocustProcess]:
    """Run a worker of the master on loopback *port* until the block ends."""
    flags = (
        *("--worker", "--until-stdin-ends"),
        *("--master-host", "127.0.0.1", "--master-port", str(port)),
    )
    async with _start(name, folder, flags) as worker:
        yield worker


@asynccontextmanager
async def start_master(
    folder: Path, flags: tuple[str, ...]
) -> AsyncIterator[tuple[LocustProcess, asyncio.StreamReader]]:
    """Run a master until the block ends; give it and the lines that it writes."""
    async with AsyncExitStack() as stack:
        reader, write_end = await stack.enter_async_context(_pipe())
        own = ("--master", "--results-fd", str(write_end), *flags)
        master = await stack.enter_async_context(_start("master", folder, own, passed=write_end))
        os.close(write_end)
        yield master, reader


@asynccontextmanager
async def _start(
    name: str, folder: Path, flags: tuple[str, ...], *, passed: int | None = None
) -> AsyncIterator[LocustProcess]:
    own_folder = folder / name
    own_folder.mkdir()
    log_path = own_folder / "log"
    with log_path.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "locust", "-f", str(_LOCUSTFILE)),
            *("--headless", "--only-summary", "--loglevel", "WARNING"),
            *flags,
            cwd=own_folder,
            env=_environment(own_folder),
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=log,
            pass_fds=() if passed is None else (passed,),
            start_new_session=True,  # a terminal's Ctrl-C is for the starter alone
        )
    try:
        yield LocustProcess(name, process, log_path)
    finally:
        await end_child(process, within_s=_GOODBYE_S)


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """Give the reader of a new pipe and the descriptor to write to, which the caller closes."""
    read_end, write_end = os.pipe()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb")
    )
    try:
        yield reader, write_end
    finally:
        transport.close()


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FORGOTTEN)}
    return kept | {"HOME": str(home), "PYTHONPATH": str(_PROJECT), _PAUSE: "0.1"}
