"""uvicorn as all servers of ours run it, on a listener that was bound before."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 2048
_GRACE_S = 2
_OWNER_ONLY = 0o177  # a umask
_PROBE_S = 1.0


def bind_tcp(host: str, port: int) -> socket.socket:
    """Return a socket bound to *host* and *port* (0: any that is free).

    Raises:
        OSError: there is no such address here, or the port is taken.
        UnicodeError: *host* is malformed.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
    )[0]
    # With its protocol named: asyncio sends small replies at once (TCP_NODELAY) only then.
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def listen_unix(path: Path) -> socket.socket:
    """Return a socket that listens at *path*, which its owner alone can use.

    Raises:
        OSError: there is something at *path*, or it is too long.
    """
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(_OWNER_ONLY)
    try:
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def listens_unix(path: Path) -> bool:
    """Tell whether a process listens at the socket *path*; its socket outlives one that died."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # too busy to answer, but there
    return True


def server_config(
    app: ASGIApp, *, has_lifespan: bool = False, grace_s: int = _GRACE_S
) -> uvicorn.Config:
    """Return how *app* is served.

    Args:
        app: the application.
        has_lifespan: whether it has a start-up and a shutdown of its own.
        grace_s: for requests in flight, once asked to stop; in seconds, >= 0.
    """
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on" if has_lifespan else "off",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=grace_s,
    )


class ProcessServer(uvicorn.Server):
    """The server of a process of its own, until SIGINT or SIGTERM, which is not a failure.

    Args:
        config: see `server_config`.
        on_ready: called once requests are answered.
    """

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        # A full collection of all that start-up built would stall requests for 30-45 ms.
        gc.collect()
        gc.freeze()
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the end of the block."""
        # The inherited one raises the signal again afterwards, which ends the process by it.
        before = {each: signal.signal(each, self.handle_exit) for each in _STOP_SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


class _GuestServer(uvicorn.Server):
    """A server in a process that is not its own: it leaves the signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Answer requests at *listener* while the block runs, in the event loop that runs already."""
    server = _GuestServer(server_config(app))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
