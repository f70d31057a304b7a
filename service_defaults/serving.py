"""One service, one process: its port, its server, its signals, its exit code."""

import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import structlog
import uvicorn
from starlette.applications import Starlette

from console import complain
from service_defaults.logs import configure_logs
from service_defaults.settings import ServiceSettings, SettingsError, read_settings

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 2048
WRONG_COMMAND = 2

_Settings = TypeVar("_Settings", bound=ServiceSettings)


def run_service(
    program: str,
    settings_class: type[_Settings],
    create_app: Callable[[_Settings], Starlette],
    argv: Sequence[str] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT and return the exit code.

    0 after a clean shutdown; 2, with one line on stderr, if a setting is wrong or the port is
    taken; 3 if the application failed to start.
    """
    try:
        settings = read_settings(settings_class, program, sys.argv[1:] if argv is None else argv)
        listener = _listen(settings.listen_host, settings.port)
    except SettingsError as error:
        complain(f"{program}: {error}")
        return WRONG_COMMAND
    configure_logs(settings.log_level)
    with listener:
        server = _Server(_config(create_app(settings), settings), program, listener)
        server.run(sockets=[listener])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """Bind here rather than in the server: a taken port is a wrong command, not a crash."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # a malformed name fails while it is encoded
        raise SettingsError(f"cannot listen on {host!r}: {error}; choose another --host") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port or --host"
        ) from error
    return listener


def _config(app: Starlette, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=settings.shutdown_s,
    )


class _Server(uvicorn.Server):
    """A server that freezes its start-up objects and for which a stop signal is no failure."""

    def __init__(self, config: uvicorn.Config, program: str, listener: socket.socket) -> None:
        super().__init__(config)
        self._program = program
        self._address = listener.getsockname()[:2]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # A full collection of all that start-up built would stall requests for 30-45 ms.
        gc.collect()
        gc.freeze()
        host, port = self._address
        structlog.get_logger().info("service.started", service=self._program, host=host, port=port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        structlog.get_logger().info("service.stopped", service=self._program)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The inherited one raises the signal again afterwards, which ends the process by it.
        before = {each: signal.signal(each, self.handle_exit) for each in _STOP_SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
