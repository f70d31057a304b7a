"""The keeper process: reads commands as JSON lines, answers and reports exits as JSON lines.

Commands: `{"id", "do": "start", "argv", "env", "cwd", "log"}` is answered with the pid, and the
command's `id` names the process from then on (a pid can come again); `{"id", "do": "signal",
"process", "signal"}` goes to its whole process group. An answer carries the `id` and, where it
failed, `error`. An exit is `{"exited": id, "code": n}`, n negative where a signal ended it.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Children:
    """The processes started so far and not yet reaped, each the leader of its own session."""

    def __init__(self) -> None:
        self._alive: dict[int, subprocess.Popen[bytes]] = {}
        self._die_with_keeper = _death_pact()

    def start(self, process: int, command: dict[str, Any]) -> int:
        """Start a process with its output appended to a log file; return its pid."""
        with open(command["log"], "ab") as log:  # noqa: PTH123 - a path from the wire
            child = subprocess.Popen(  # noqa: S603 - what the system file says is what runs
                command["argv"],
                env=command["env"],
                cwd=command["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=self._die_with_keeper,  # noqa: PLW1509 - safe: there is one thread
            )
        self._alive[process] = child
        return child.pid

    def signal(self, process: int, number: int) -> None:
        """Send a signal to the process's group; nothing happens if it has ended."""
        if process in self._alive:
            _signal_group(self._alive[process].pid, number)

    def reap(self) -> list[tuple[int, int]]:
        """Collect those that ended as (process, exit code); end what their groups left behind."""
        ended = []
        for process, child in list(self._alive.items()):
            # Looked at before it is reaped: until then no other process can have its pid.
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                _signal_group(child.pid, signal.SIGKILL)
                ended.append((process, child.wait()))
                del self._alive[process]
        return ended

    def kill_all(self) -> None:
        """Kill and reap all, with their descendants; SIGKILL ends paused processes too."""
        for child in self._alive.values():
            _signal_group(child.pid, signal.SIGKILL)
        for child in self._alive.values():
            child.wait()
        self._alive.clear()
        # What left its group has by now become the keeper's own child.
        while strays := _children_of(os.getpid()):
            for pid in strays:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


def _children_of(parent: int) -> list[int]:
    """Return the pids of a process's children; none where there is no /proc."""
    try:
        stats = [Path(entry, "stat") for entry in os.scandir("/proc") if entry.name.isdecimal()]
    except OSError:
        return []
    children = []
    for stat in stats:
        with contextlib.suppress(OSError):  # it ended meanwhile
            _, _, after_name = stat.read_text(errors="replace").rpartition(")")
            if int(after_name.split()[1]) == parent:
                children.append(int(stat.parent.name))
    return children


def _adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _death_pact() -> Callable[[], None] | None:
    """Return what a child calls to be killed by the kernel when the keeper dies (Linux)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    keeper = os.getpid()

    def die_with_keeper() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it died before the pact was made
            os._exit(1)

    return die_with_keeper


def main() -> None:
    """Serve commands until the input ends or SIGTERM comes; then kill all children."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _adopt_orphans()
    children = Children()
    try:
        _serve(children, wake_read)
    except BrokenPipeError:
        pass  # the lab is gone
    finally:
        children.kill_all()


def _serve(children: Children, wake_read: int) -> None:
    # Unbuffered: select() knows nothing of bytes that wait in a buffer of Python's.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as commands:
        _converse(children, commands, wake_read)


def _converse(children: Children, commands: FileIO, wake_read: int) -> None:
    pending = b""
    while True:
        readable, _, _ = select.select([commands.fileno(), wake_read], [], [])
        if wake_read in readable:
            os.read(wake_read, 4096)
            for process, code in children.reap():
                _write({"exited": process, "code": code})
        if commands.fileno() in readable:
            received = commands.read(65536)
            if not received:
                return
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                _write(_obey(children, json.loads(line)))


def _obey(children: Children, command: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": command["id"]}
    try:
        if command["do"] == "start":
            answer["pid"] = children.start(command["id"], command)
        else:
            children.signal(command["process"], command["signal"])
    except (OSError, ValueError, subprocess.SubprocessError) as failure:
        answer["error"] = str(failure)
    return answer


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
