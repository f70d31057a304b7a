"""One service, one process: its port, its server, its exit code."""

import socket
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import structlog
from starlette.applications import Starlette

from console import complain
from service_defaults.logs import configure_logs
from service_defaults.server import ProcessServer, bind_tcp, server_config
from service_defaults.settings import ServiceSettings, SettingsError, read_settings

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
        listener = _bind(settings.listen_host, settings.port)
    except SettingsError as error:
        complain(f"{program}: {error}")
        return WRONG_COMMAND
    configure_logs(settings.log_level)
    log = structlog.get_logger().bind(service=program)
    host, port = listener.getsockname()[:2]
    config = server_config(create_app(settings), has_lifespan=True, grace_s=settings.shutdown_s)
    with listener:
        server = ProcessServer(config, lambda: log.info("service.started", host=host, port=port))
        server.run(sockets=[listener])
    log.info("service.stopped")
    return 0


def _bind(host: str, port: int) -> socket.socket:
    """Bind here rather than in the server: a taken port is a wrong command, not a crash."""
    try:
        return bind_tcp(host, port)
    except (socket.gaierror, UnicodeError) as error:  # a malformed name fails while it is encoded
        raise SettingsError(f"cannot listen on {host!r}: {error}; choose another --host") from error
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port or --host"
        ) from error
