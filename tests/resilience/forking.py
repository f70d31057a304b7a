"""What a process and those that it forks do, in a process of its own: tests have threads."""

import os
import subprocess
import sys
from collections.abc import Callable


def run(module: str, *args: str) -> list[str]:
    """Run a module of the tests, warnings as errors; return the lines that it printed, sorted."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", module, *args],
        check=False,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return sorted(done.stdout.splitlines())


def in_child(act: Callable[[], object]) -> None:
    """Print what `act` returns, or raises, in a forked process, and wait for its end."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        return
    code = 1
    try:
        try:
            told = act()
        except Exception as error:  # noqa: BLE001 - it is what is printed
            told = f"{type(error).__name__}: {error}"
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)
