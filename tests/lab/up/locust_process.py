"""Real Locust processes for tests: in a folder of their own, on free ports, always stopped."""

import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.service_process import free_port

LOCUSTFILE = Path(__file__).parents[3] / "systems" / "rates" / "locustfile.py"
_START_S = 20.0
# Loopback needs no certificates, and loading them would cost each request 75 ms.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningLocust:
    """A Locust whose web UI answers at *url*."""

    url: str
    process: subprocess.Popen[str]

    def state(self) -> dict[str, object]:
        """Return what the Chaos page would draw."""
        state: dict[str, object] = ask("GET", f"{self.url}/chaos/state").raise_for_status().json()
        return state


def start_locust(folder: Path, *flags: str, **env: str) -> subprocess.Popen[str]:
    """Start Locust on the Locust file with *flags* and, beside a bare environment, *env*."""
    return subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *flags],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)} | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(method: str, url: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - passed on
    """Send one request to a process on loopback; *options* as for `httpx.request`."""
    return httpx.request(method, url, verify=_NO_CERTIFICATES, **options)


@contextmanager
def locust(folder: Path, *flags: str, **env: str) -> Iterator[RunningLocust]:
    """Run Locust with its web UI until the block ends."""
    port = free_port()
    process = start_locust(folder, "--web-port", str(port), *flags, **env)
    running = RunningLocust(url=f"http://127.0.0.1:{port}", process=process)
    try:
        _await_life(running)
        yield running
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> str:
    """Kill the process; return what it wrote to stderr."""
    process.kill()
    return process.communicate()[1]


def _await_life(running: RunningLocust) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and running.process.poll() is None:
        try:
            ask("GET", running.url, timeout=1)
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"Locust did not start: {end(running.process)}")
