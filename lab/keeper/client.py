"""The lab's side of the keeper: start, signal and await processes that another process owns."""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.errors import NoValidData

GOODBYE_S = 5.0
LONGEST_LINE_BYTES = 2**20
KEEPER_IS_GONE = "the process that owns the services has ended; start the run again"


class KeeperError(NoValidData):
    """A process could not be started, or the keeper itself is gone."""


class OwnedProcess:
    """A process that the keeper owns; `await wait()` for its exit code."""

    def __init__(self, number: int) -> None:
        self.number = number  # its name between lab and keeper
        self.pid = 0  # known once it has started
        self.exit_code: int | None = None  # None while it runs; negative: ended by that signal
        self._ended = asyncio.Event()

    def is_stopped(self) -> bool | None:
        """Tell whether SIGSTOP holds the process; None where there is no /proc to look it up."""
        try:
            after_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2]
        except OSError:
            return None
        return after_name.split()[0] == "T"

    def end(self, exit_code: int) -> None:
        """Make the exit code known."""
        self.exit_code = exit_code
        self._ended.set()

    async def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        await self._ended.wait()
        assert self.exit_code is not None  # noqa: S101 - end() sets it first
        return self.exit_code


class Keeper:
    """`async with Keeper() as keeper`: at the end of the block nothing that it started is left."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process
        self._listener: asyncio.Task[None]
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}  # by command
        self._processes: dict[int, OwnedProcess] = {}

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "lab.keeper.process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LONGEST_LINE_BYTES,
        )
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the keeper's input, on which it kills all that is left; wait until it has."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.close()
        try:
            async with asyncio.timeout(GOODBYE_S):
                await self._process.wait()
        except TimeoutError:
            pass  # it hangs; killed below
        finally:
            if self._process.returncode is None:
                self._process.kill()
            if self._process.returncode != 0:
                self._kill_groups()
            self._listener.cancel()
            await asyncio.wait({self._listener})

    def check(self) -> None:
        """Raise `KeeperError` if the keeper is gone, and with it all that it owned."""
        if self._listener.done():
            raise KeeperError(KEEPER_IS_GONE)

    def _kill_groups(self) -> None:
        """Kill what a keeper that was itself killed may have left of its processes' groups."""
        for process in self._processes.values():
            if process.pid:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        self._processes.clear()

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
    ) -> OwnedProcess:
        """Start a process with exactly the environment *env*, its output appended to *log*.

        Raises:
            KeeperError: the command cannot be run, or the keeper is gone.
        """
        process = OwnedProcess(next(self._numbers))
        self._processes[process.number] = process
        command = {"argv": list(argv), "env": dict(env), "cwd": str(cwd), "log": str(log)}
        answer = await self._ask(process.number, {"do": "start"} | command)
        if "error" in answer:
            del self._processes[process.number]
            raise KeeperError(f"cannot start {argv[0]}: {answer['error']}")
        process.pid = answer["pid"]
        return process

    async def signal(self, process: OwnedProcess, number: signal.Signals) -> None:
        """Send a signal to the process and its children; nothing happens if it has ended."""
        command = {"do": "signal", "process": process.number, "signal": int(number)}
        await self._ask(next(self._numbers), command)

    async def stop(self, process: OwnedProcess, *, grace_s: float) -> int:
        """Resume and terminate a process, kill it after *grace_s* seconds; return its exit code."""
        await self.signal(process, signal.SIGTERM)
        await self.signal(process, signal.SIGCONT)
        try:
            async with asyncio.timeout(grace_s):
                return await process.wait()
        except TimeoutError:
            await self.signal(process, signal.SIGKILL)
            return await process.wait()

    async def _ask(self, number: int, command: dict[str, Any]) -> dict[str, Any]:
        self.check()
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(json.dumps(command | {"id": number}).encode() + b"\n")
        try:
            return await answer
        finally:
            del self._answers[number]

    async def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "exited" in message:
                self._processes.pop(message["exited"]).end(message["code"])
            elif (waiting := self._answers.get(message["id"])) and not waiting.done():
                waiting.set_result(message)
        self._lose_all()

    def _lose_all(self) -> None:
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(KeeperError(KEEPER_IS_GONE))
        for process in self._processes.values():
            process.end(-signal.SIGKILL)
        self._kill_groups()
