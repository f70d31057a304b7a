"""A small HTTP/1.1 server: JSON replies, connections kept alive, request bodies dropped."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

_HOST = "127.0.0.1"
_REQUEST_LINE = re.compile(rb"[A-Z]+ ([!-~]+) HTTP/1\.\d\r\n")
_CONTENT_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")
_BROKEN_OFF = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answers."""

    status: int = 200
    body: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the reply as it goes over the wire."""
        body = json.dumps(dict(self.body)).encode()
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body


Answer = Callable[[str], Awaitable[Reply]]
"""Takes the target of a request (path and query), returns the reply."""


@contextlib.asynccontextmanager
async def serving(answer: Answer, *, port: int = 0) -> AsyncIterator[str]:
    """Serve on a loopback port, a free one by default; yield the base URL.

    Raises:
        OSError: The port is taken, or not ours to take.
    """
    with socket.create_server((_HOST, port)) as listener:
        async with asyncio.TaskGroup() as connections:
            tasks: set[asyncio.Task[None]] = set()

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = connections.create_task(_converse(answer, reader, writer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

            server = await asyncio.start_server(accept, sock=listener)
            try:
                yield f"http://{_HOST}:{listener.getsockname()[1]}"
            finally:
                server.close()
                for task in tasks:
                    task.cancel()


async def _converse(
    answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with contextlib.suppress(*_BROKEN_OFF), _closing(writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            asked = _REQUEST_LINE.match(head)
            if asked is None:  # no HTTP
                return
            await reader.readexactly(_length(head))
            writer.write((await answer(asked[1].decode())).encoded())
            await writer.drain()


def _length(head: bytes) -> int:
    named = _CONTENT_LENGTH.search(head)
    return int(named[1]) if named else 0


@contextlib.contextmanager
def _closing(writer: asyncio.StreamWriter) -> Iterator[None]:
    try:
        yield
    finally:
        writer.close()
