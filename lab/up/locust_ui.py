"""Locust's web UI beside a running system: load on it by hand, and a page for its faults.

Locust runs as a process of the keeper, so that it ends with the lab whatever ends the lab. It reads
settings from its current folder, its home folder and each `LOCUST_…` variable: it gets a folder of
its own for both, and none of the variables.
"""

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import NoValidData, UsageError
from lab.keeper import OwnedProcess
from lab.last_words import last_words
from lab.ports import can_listen, free_port
from lab.readiness import http_probe
from lab.run.locust_engine import require_locust
from lab.running import PROBE_EVERY_S, RunningSystem
from lab.spec.system import Service, System

_PROJECT = Path(__file__).parents[2]
LOG = "locust.ui"  # no service can have this name
READY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocustUi:
    """A web UI that answers."""

    url: str
    chaos_url: str
    target: str  # the service that its users call
    process: OwnedProcess
    log: Path


def check_locust(system: System, port: int | None) -> None:
    """Make sure, before anything starts, that a web UI on *port* (None: any) can be had.

    Raises:
        UsageError: Locust is not installed, the port is taken, or the system has nothing to load
            or no Locust file.
    """
    require_locust("--locust")
    if port is not None and not can_listen(port):
        raise UsageError(
            f"port {port} cannot be listened on, perhaps somebody does; choose another with "
            "--locust-port, or leave it out for a free one"
        )
    entrance(system)
    locust_file(system)


def entrance(system: System) -> Service:
    """Return the service to load: the last of those that no other service needs.

    Raises:
        UsageError: the lab starts no service of this system.
    """
    needed = {name for service in system.services for name in service.needs}
    for service in reversed(system.services):
        if service.run and service.name not in needed:
            return service
    raise UsageError(f"{system.path} has no service that Locust could load; leave --locust out")


def locust_file(system: System) -> Path:
    """Return the Locust file of a system: of `rates.yaml`, `rates/locustfile.py` beside it.

    Raises:
        UsageError: it is not there.
    """
    path = system.path.resolve().with_suffix("") / "locustfile.py"
    if not path.is_file():
        raise UsageError(
            f"{system.path} has no Locust file; write one at {path}, or leave --locust out"
        )
    return path


@asynccontextmanager
async def locust_ui(
    running: RunningSystem, *, port: int | None, folder: Path, control: Path
) -> AsyncIterator[LocustUi]:
    """Run the web UI on loopback until the block ends.

    Args:
        running: the system, up.
        port: None for a free one.
        folder: new; Locust's home.
        control: the unix socket of this lab's API.

    Raises:
        NoValidData: it ended early or did not answer in time.
    """
    port = port or free_port(set(), random.SystemRandom())
    target = entrance(running.system)
    home = _new(folder)
    log = running.log(LOG)
    process = await running.start_tool(
        LOG,
        [
            *(sys.executable, "-m", "locust", "-f", str(locust_file(running.system))),
            *("--web-port", str(port), "--host", running.url(target.name)),
        ],
        env=_environment(running, home, control),
        cwd=home,
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        await _wait_until_ready(running, url, process, log)
        yield LocustUi(
            url=url, chaos_url=f"{url}chaos/", target=target.name, process=process, log=log
        )
    finally:
        await running.end_tool(process)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder.resolve()


def _environment(running: RunningSystem, home: Path, control: Path) -> dict[str, str]:
    injectors = {
        service.name: running.url(service.name) + service.chaos
        for service in running.system.services
        if service.chaos
    }
    return {
        "HOME": str(home),
        "LAB_CHAOS_URLS": json.dumps(injectors),
        "LAB_CONTROL": str(control),
        "PYTHONPATH": str(_PROJECT),  # for Locust files of other projects, which import the page
    }


async def _wait_until_ready(
    running: RunningSystem, url: str, process: OwnedProcess, log: Path
) -> None:
    probe = http_probe(running.http, url)
    try:
        async with asyncio.timeout(READY_S):
            while not await probe():
                if process.exit_code is not None:
                    raise NoValidData(
                        f"Locust ended with code {process.exit_code} before it was ready; "
                        f"{last_words(log)}"
                    )
                await asyncio.sleep(PROBE_EVERY_S)
    except TimeoutError:
        raise NoValidData(
            f"Locust did not answer at {url} in {READY_S:g} s; {last_words(log)}"
        ) from None
