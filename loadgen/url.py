"""URLs taken apart into where to connect and what to ask for there."""

from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

_PORTS = {"http": 80, "https": 443}
_SAFE_IN_TARGET = "%/:?#[]@!$&'()*+,;=-._~|"


class Origin(NamedTuple):
    """Where a request goes: a host and port, with TLS or without, or a unix socket."""

    host: str  # a name or an address without brackets; empty for a unix socket
    port: int
    is_tls: bool = False
    socket_path: str = ""


class ParsedUrl(NamedTuple):
    """An origin and what the request line and `Host` say there."""

    origin: Origin
    target: str  # path and query, percent-encoded, never empty
    authority: str  # for the `Host` header


def parse_url(url: str) -> ParsedUrl:
    """Take an absolute http, https or http+unix URL apart.

    Raises:
        ValueError: it is none, its port is out of range, or it holds a user name.
    """
    example = f"url must be like http://127.0.0.1:8000/path, got {url!r}"
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for one out of range
        is_socket = parts.scheme == "http+unix"
        host = "" if is_socket else (parts.hostname or "").encode("idna").decode()
    except ValueError as problem:  # UnicodeError is one
        raise ValueError(example) from problem
    if "@" in parts.netloc:
        raise ValueError("url must not hold a user name; write an authorization header instead")
    if is_socket and parts.netloc:
        origin = Origin("", 0, socket_path=unquote(parts.netloc))
        return ParsedUrl(origin, _target(parts), "localhost")
    if not host or parts.scheme not in _PORTS:
        raise ValueError(example)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port is None else f"{shown}:{port}"
    port = _PORTS[parts.scheme] if port is None else port
    origin = Origin(host, port, is_tls=parts.scheme == "https")
    return ParsedUrl(origin, _target(parts), authority)


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_SAFE_IN_TARGET)
    return path + (f"?{quote(parts.query, safe=_SAFE_IN_TARGET)}" if parts.query else "")
