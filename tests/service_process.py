"""Real service processes for tests: started on a free port, awaited, and always stopped."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

_ROOT = Path(__file__).parent.parent
_START_S = 20.0
_STOP_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that answers at *url*."""

    url: str
    process: subprocess.Popen[str]

    def stop(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end; return its exit code and what it wrote to stderr."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(by)
        _, errors = self.process.communicate(timeout=_STOP_S)
        return self.process.returncode, errors


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def service(module: str, **env: str) -> Iterator[Running]:
    """Run `python -m module` until the block ends."""
    port = free_port()
    process = start(module, "--port", str(port), **env)
    running = Running(url=f"http://127.0.0.1:{port}", process=process)
    try:
        _await_life(running)
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def start(module: str, *flags: str, **env: str) -> subprocess.Popen[str]:
    """Start `python -m module` with *flags* and, beside a bare environment, *env*."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", module, *flags],
        cwd=_ROOT,
        env=_bare_environment() | env,
        stderr=subprocess.PIPE,
        text=True,
    )


def _bare_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


def _await_life(running: Running) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and running.process.poll() is None:
        try:
            httpx.get(f"{running.url}/alive", timeout=1).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    running.process.kill()
    raise RuntimeError(f"the service did not start: {running.process.communicate()[1]}")
