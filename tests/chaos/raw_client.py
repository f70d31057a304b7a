"""An HTTP client of a few lines on a bare socket: it tells what came, when, and how it ended."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import orjson

PATIENCE_S = 5.0


@dataclass(slots=True, kw_only=True)
class Heard:
    """All that came after one request, until the reply was whole, cut, or not to be waited for."""

    pieces: list[bytes] = field(default_factory=list)  # one a read
    seconds: float = 0.0  # from the request to the end
    is_closed: bool = False  # the server closed the connection

    @property
    def raw(self) -> bytes:
        """Everything, head included."""
        return b"".join(self.pieces)

    @property
    def status(self) -> int:
        """The status; 0 if there was no reply."""
        return int(self.raw.split(b" ", 2)[1]) if self.raw else 0

    @property
    def headers(self) -> dict[str, str]:
        """The headers, their names in lower case."""
        lines = self.raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def mark(self) -> str | None:
        """What the reply says of faults."""
        return self.headers.get("x-chaos")

    @property
    def body(self) -> bytes:
        """What followed the head, the framing of chunks included."""
        return self.raw.partition(b"\r\n\r\n")[2]

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of the body in order; an empty one at the end says that it is whole."""
        found, rest = [], self.body
        while rest:
            length, _, rest = rest.partition(b"\r\n")
            found.append(rest[: int(length, 16)])
            rest = rest[int(length, 16) + 2 :]
        return found

    def is_whole(self, *, is_head: bool = False) -> bool:
        """Tell whether the reply is complete as its head describes it."""
        if b"\r\n\r\n" not in self.raw:
            return False
        if is_head or self.status == 204:
            return True
        if "content-length" in self.headers:
            return len(self.body) >= int(self.headers["content-length"])
        return self.body.endswith(b"0\r\n\r\n")


class Connection:
    """One kept-alive connection."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @classmethod
    @contextmanager
    def to(cls, port: int) -> Iterator[Self]:
        """Connect to a loopback *port* until the block ends."""
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connected:
            yield cls(connected)

    def say(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request without waiting for anything."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)

    def hear(
        self, before: Heard | None = None, *, within_s: float = PATIENCE_S, is_head: bool = False
    ) -> Heard:
        """Return what comes within so many seconds, until a reply is whole or cut.

        *before* is what was heard of the same reply already; `seconds` starts anew.
        """
        heard = Heard(pieces=list(before.pieces) if before else [])
        began = time.perf_counter()
        while not heard.is_whole(is_head=is_head):
            left_s = began + within_s - time.perf_counter()
            if left_s <= 0:
                break
            self._socket.settimeout(left_s)
            try:
                piece = self._socket.recv(65536)
            except TimeoutError:
                break
            if not piece:
                heard.is_closed = True
                break
            heard.pieces.append(piece)
        heard.seconds = time.perf_counter() - began
        return heard

    def ask(self, method: str, path: str, body: bytes = b"") -> Heard:
        """Send a request and return all that comes of it."""
        self.say(method, path, body)
        return self.hear(is_head=method == "HEAD")


def ask(port: int, method: str, path: str, body: bytes = b"") -> Heard:
    """Ask on a connection of its own."""
    with Connection.to(port) as connection:
        return connection.ask(method, path, body)


def put_on(port: int, **document: object) -> Heard:
    """Ask for a fault."""
    return ask(port, "POST", "/chaos", orjson.dumps(document))


def take_off(port: int) -> Heard:
    """End the fault."""
    return ask(port, "DELETE", "/chaos")
