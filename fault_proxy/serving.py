"""The control listener: where it is, and the server on it."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from fault_proxy.address import HostPort
from fault_proxy.control import proxy_control
from fault_proxy.proxy import Proxy
from service_defaults.server import (
    ProcessServer,
    bind_tcp,
    listen_unix,
    listens_unix,
    server_config,
)

_SHUTDOWN_S = 1


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
    with bind_tcp(at.host, at.port) as bound:
        yield bound


@contextlib.contextmanager
def _unix_socket(path: Path) -> Iterator[socket.socket]:
    if path.is_socket() and not listens_unix(path):
        path.unlink()  # left by a proxy that died; one that answers stays, and so does a file
    with listen_unix(path) as bound:
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


async def serve_control(proxy: Proxy, bound: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve the control of *proxy* on *bound* until SIGINT or SIGTERM."""
    config = server_config(proxy_control(proxy), grace_s=_SHUTDOWN_S)
    await ProcessServer(config, on_ready).serve(sockets=[bound])
