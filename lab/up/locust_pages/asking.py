"""One JSON request with a bounded wait, over TCP or a unix socket.

Plain `http.client`: Locust makes its sockets cooperative, and it takes no proxy from the
environment, which has no business between this process and loopback.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from urllib.parse import urlsplit

import gevent  # type: ignore[import-untyped]

_LARGEST_REPLY_BYTES = 1 << 20
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NoAnswerError(Exception):
    """Nobody answered in time; the message says who and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply: its status and its JSON object (empty if the body is none)."""

    status: int
    document: Mapping[str, object]

    @property
    def is_ok(self) -> bool:
        """Whether the request was carried out."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the range of success in RFC 9110

    @property
    def complaint(self) -> str:
        """Return what the reply says of a request that was refused."""
        return str(self.document.get("detail") or f"status {self.status}")


def ask(
    method: str,
    url: str,
    *,
    within_s: float,
    document: Mapping[str, object] | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    unix_socket: str | None = None,
) -> Answer:
    """Send one request and return the reply.

    Args:
        method: of HTTP.
        url: absolute http(s); with *unix_socket* only its path counts.
        within_s: limit on all of it, > 0.
        document: the JSON body; None sends none.
        headers: beside `Content-Type`.
        unix_socket: path of the socket to connect to, in place of the URL's host.

    Raises:
        NoAnswerError: no complete reply within *within_s*.
    """
    body = None if document is None else json.dumps(document).encode()
    own = dict(headers) | ({} if body is None else {"Content-Type": "application/json"})
    connection = _connection(url, within_s, unix_socket)
    target = urlsplit(url)._replace(scheme="", netloc="", fragment="").geturl() or "/"
    late = NoAnswerError(f"{unix_socket or url} gave no answer within {within_s:g} s")
    try:
        with gevent.Timeout(within_s, late):
            connection.request(method, target, body=body, headers=own)
            reply = connection.getresponse()
            return Answer(status=reply.status, document=_object(reply.read(_LARGEST_REPLY_BYTES)))
    except TimeoutError as error:
        raise late from error
    except (OSError, HTTPException) as error:
        raise NoAnswerError(f"{unix_socket or url} does not answer: {error}") from error
    finally:
        connection.close()


def _connection(url: str, within_s: float, unix_socket: str | None) -> HTTPConnection:
    if unix_socket is not None:
        return _UnixConnection(unix_socket, within_s)
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=within_s)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str, within_s: float) -> None:
        super().__init__("localhost", timeout=within_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _object(body: bytes) -> Mapping[str, object]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
