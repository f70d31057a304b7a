"""A real `python -m lab up`, found by the commands through a runtime folder of its own."""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.up.sockets import ENDING
from tests.lab.small_experiment import SYSTEM, LabProcess

READY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningLab:
    """A lab that keeps a system up."""

    process: LabProcess
    socket: Path
    out: Path

    def ask(self, method: str, path: str, **options: object) -> httpx.Response:
        """Send a request to its API, as another program would."""
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://lab", timeout=30) as http:
            return http.request(method, path, **options)  # type: ignore[arg-type]

    def service(self, name: str) -> dict[str, object]:
        """Return one service of the status."""
        services = self.ask("GET", "/status").json()["services"]
        return next(each for each in services if each["name"] == name)

    def faults(self) -> list[dict[str, object]]:
        """Return the faults that are on."""
        return list(self.ask("GET", "/status").json()["faults"])

    def port(self, name: str) -> int:
        """Return the port of a service."""
        return int(str(self.service(name)["url"]).removesuffix("/0").rpartition(":")[2])

    def link(self, name: str) -> str:
        """Return the address that leads through the proxy on a link."""
        links = self.ask("GET", "/status").json()["links"]
        return next(str(each["url"]) for each in links if each["link"] == name)

    def clear(self) -> None:
        """Take all faults off."""
        for fault in self.faults():
            self.ask("DELETE", f"/faults/{fault['id']}").raise_for_status()


def get(url: object) -> httpx.Response:
    """Send one request on a connection of its own."""
    with httpx.Client(verify=False) as http:  # noqa: S501 - it is not encrypted either
        return http.get(str(url), timeout=10)


def until(condition: Callable[[], bool], within_s: float = 10) -> bool:
    """Wait until *condition* holds; tell whether it did in time."""
    deadline = time.monotonic() + within_s
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


@contextmanager
def runtime_folder() -> Iterator[Path]:
    """Yield a folder with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def lab_up(
    folder: Path,
    runtime: Path,
    system: str = SYSTEM,
    name: str = "small",
    *,
    links: Sequence[str] = (),
    flags: Sequence[str] = (),
    until_event: str = "system.up",
    **env: str,
) -> Iterator[RunningLab]:
    """Keep *system* up until the block ends, with a proxy on each of *links*."""
    file = folder / f"{name}.yaml"
    file.write_text(system)
    out = folder / "out"
    options = [word for link in links for word in ("--link", link)]
    words: list[str | Path] = ["up", file, "--out", out, *options, *flags]
    process = LabProcess(*words, XDG_RUNTIME_DIR=str(runtime), **env)
    try:
        process.wait_for(until_event, out / f"up-{name}" / "latest", READY_S)
        socket = runtime / "resilience-lab" / (name + ENDING)
        yield RunningLab(process=process, socket=socket, out=out / f"up-{name}" / "latest")
    finally:
        process.process.send_signal(signal.SIGINT)  # nothing happens if it has ended
        process.finish()
        assert process.survivors_after(5) == []
