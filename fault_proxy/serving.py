"""The control listener: where it is, and the server on it."""

import contextlib
import gc
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from fault_proxy.address import HostPort
from fault_proxy.control import control_app
from fault_proxy.proxy import Proxy

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHUTDOWN_S = 1
_OWNER_ONLY = 0o177  # a umask


@contextlib.contextmanager
def control_socket(address: str) -> Iterator[socket.socket]:
    """Bind *address*: `host:port` on loopback, or the path of a Unix socket of one's own.

    Raises:
        ValueError: the address is malformed, or others than this host could reach it.
        OSError: it cannot be bound.
    """
    if "/" in address:
        with _unix_socket(Path(address)) as bound:
            yield bound
        return
    at = HostPort.read(address)
    if not at.is_loopback:
        raise ValueError(f"the control has no password, so {at} must be loopback; use 127.0.0.1")
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((at.host, at.port))
        yield bound


@contextlib.contextmanager
def _unix_socket(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        _remove_stale(path)
        before = os.umask(_OWNER_ONLY)
        try:
            bound.bind(str(path))
        finally:
            os.umask(before)
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _remove_stale(path: Path) -> None:
    """Remove the socket of a proxy that died; one that answers stays, and so does a file."""
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


async def serve_control(proxy: Proxy, bound: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve the control of *proxy* on *bound* until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        control_app(proxy),
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    await _Server(config, on_ready).serve(sockets=[bound])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # A full collection of all that start-up built would stall the traffic.
        gc.collect()
        gc.freeze()
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The inherited one raises the signal again afterwards, which ends the process by it.
        before = {each: signal.signal(each, self.handle_exit) for each in _STOP_SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
