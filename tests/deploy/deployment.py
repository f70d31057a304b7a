"""The services of docker-compose.yml as processes of this machine, on loopback and free ports."""

import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.compose_file import Service
from tests.deploy.image import Image
from tests.service_process import free_port

_HEALTHY_S = 30.0
_CHECK_S = 5.0
_STOP_S = 10.0  # what an engine grants before it kills


@dataclass(slots=True, kw_only=True)
class Deployment:
    """Starts what the file names, with the addresses and ports of containers replaced."""

    services: dict[str, Service]
    image: Image
    logs: Path
    ports: dict[tuple[str, int], int] = field(init=False)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Choose a free port for each one that a service binds."""
        self.ports = {
            (name, port): free_port()
            for name, service in self.services.items()
            for port in service.binds
        }

    def start(self, name: str, copy: int = 1) -> None:
        """Run the service *name*; a further *copy* of it is what `--scale` makes."""
        service = self.services[name]
        with self._log(name, copy).open("wb") as log:
            self.processes[f"{name}-{copy}"] = subprocess.Popen(
                self._program(service),
                cwd=self.image.code,
                env=self._environment(service),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def is_healthy(self, name: str) -> bool:
        """Run the service's health check once."""
        service = self.services[name]
        try:
            check = subprocess.run(
                [self._on_loopback(word, service) for word in service.health_check],
                cwd=self.image.code,
                env=self._environment(service),
                capture_output=True,
                timeout=_CHECK_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return check.returncode == 0

    def await_health(self, name: str) -> None:
        """Return once the health check passes."""
        deadline = time.monotonic() + _HEALTHY_S
        while not self.is_healthy(name):
            ended = self.processes[f"{name}-1"].poll()
            assert ended is None, f"{name} ended with {ended}: {self.log(name)}"
            assert time.monotonic() < deadline, f"{name} is not healthy: {self.log(name)}"
            time.sleep(0.25)

    def await_line(self, name: str, pattern: str, copy: int = 1) -> None:
        """Return once the service has logged a line that *pattern* is found in."""
        deadline = time.monotonic() + _HEALTHY_S
        while not re.search(pattern, self.log(name, copy)):
            assert time.monotonic() < deadline, f"no {pattern!r}: {self.log(name, copy)}"
            time.sleep(0.25)

    def url(self, name: str, port: int) -> str:
        """Return where the port of the container is reached."""
        return f"http://127.0.0.1:{self.ports[name, port]}"

    def log(self, name: str, copy: int = 1) -> str:
        """Return what the service has written so far."""
        return self._log(name, copy).read_text(encoding="utf-8", errors="replace")

    def stop(self) -> dict[str, int]:
        """Ask everything to end, callers first; return the exit codes."""
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=_STOP_S)
        return {name: process.returncode for name, process in self.processes.items()}

    def kill(self) -> None:
        """End whatever still runs."""
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _log(self, name: str, copy: int) -> Path:
        return self.logs / f"{name}-{copy}.log"

    def _program(self, service: Service) -> list[str]:
        words = [self._on_loopback(word, service) for word in service.program]
        for at, flag in enumerate(words[:-1], start=1):
            if flag.endswith("-host") and words[at] in self.services:
                words[at] = "127.0.0.1"
        return words

    def _environment(self, service: Service) -> dict[str, str]:
        told = service.environment.items()
        return self.image.variables | {
            name: self._on_loopback(value, service) for name, value in told
        }

    def _on_loopback(self, text: str, service: Service) -> str:
        for (name, port), free in self.ports.items():
            text = re.sub(rf"\b{name}:{port}\b", f"127.0.0.1:{free}", text)
            if name == service.name or name in service.program:
                text = re.sub(rf"\b{port}\b", str(free), text)
        return text.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
