"""Badly behaved servers: each is a coroutine that talks to one connection as it likes."""

import asyncio
import gzip
import os
import socket
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

Talk = Callable[["Guest"], Awaitable[None]]
FRESH = b'{"source": "fresh"}'
LENGTH = b"Content-Length: %d\r\n" % len(FRESH)
OK = b"HTTP/1.1 200 OK\r\n"
GOOD = OK + LENGTH + b"\r\n" + FRESH


@dataclass
class Guest:
    """One connection to a badly behaved server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int  # of the connection, from 0

    async def request(self) -> bytes:
        """Wait for the head of a request."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def say(self, *parts: bytes, gap_s: float = 0.0) -> None:
        """Write parts, with a gap after each but the last."""
        for place, part in enumerate(parts):
            if place:
                await asyncio.sleep(gap_s)
            self.writer.write(part)
            await self.writer.drain()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def end_tcp(self) -> None:
        """Close our side of TCP, without the end that TLS has of its own."""
        number = self.writer.get_extra_info("socket").fileno()
        with socket.socket(fileno=os.dup(number)) as same:
            same.shutdown(socket.SHUT_WR)


def says(*parts: bytes, gap_s: float = 0.0, closes: bool = False) -> Talk:
    """Answer each request with the same parts; then close if it *closes*, else wait for more."""

    async def talk(guest: Guest) -> None:
        while True:
            await guest.request()
            await guest.say(*parts, gap_s=gap_s)
            if closes:
                return

    return talk


async def never_answers(guest: Guest) -> None:
    """Read and say nothing."""
    await guest.reader.read()


async def closes_early(guest: Guest) -> None:
    """Close once the request is there."""
    await guest.request()


async def closes_at_once(guest: Guest) -> None:
    """Close before anything was said."""


async def resets(guest: Guest) -> None:
    """Reset once the request is there."""
    await guest.request()
    guest.reset()


async def resets_in_the_body(guest: Guest) -> None:
    """Reset in the middle of a reply."""
    await guest.request()
    await guest.say(GOOD[:-5])
    await asyncio.sleep(0.05)
    guest.reset()


async def resets_where_only_an_end_would_end_the_body(guest: Guest) -> None:
    """Reset after a body that has no length, so that nobody can know whether it was whole."""
    await guest.request()
    await guest.say(OK + b"\r\n" + FRESH)
    await asyncio.sleep(0.05)
    guest.reset()


async def closes_tcp_alone(guest: Guest) -> None:
    """End a body that has no length as TCP ends."""
    await guest.request()
    await guest.say(OK + b"\r\n" + FRESH)
    guest.end_tcp()
    await guest.reader.read()


async def closes_late(guest: Guest) -> None:
    """Answer, then close unannounced while the connection is idle."""
    await guest.request()
    await guest.say(GOOD)


async def endless_head(guest: Guest) -> None:
    """Send headers for ever."""
    await guest.request()
    await guest.say(OK)
    while True:
        await guest.say(b"X-More: " + b"x" * 8000 + b"\r\n")


async def endless_header(guest: Guest) -> None:
    """Send one header for ever."""
    await guest.request()
    await guest.say(OK + b"X-More: ")
    while True:
        await guest.say(b"x" * 8000)


async def endless_interim(guest: Guest) -> None:
    """Send interim replies for ever."""
    await guest.request()
    while True:
        await guest.say(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)


async def answers_before_the_request(guest: Guest) -> None:
    """Send a reply that was not asked for, then answer well."""
    await guest.say(GOOD)
    await says(GOOD)(guest)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a reply in chunks."""
    framed = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + framed + end


def coded(coding: bytes, body: bytes) -> bytes:
    """Return a reply with a content coding."""
    head = b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (coding, len(body))
    return OK + head + body


BOMB = zlib.compress(b" " * (17 * 2**20), 9)
GZIPPED = gzip.compress(FRESH, mtime=0)


@asynccontextmanager
async def badly_behaved(
    talk: Talk,
    *,
    host: str = "127.0.0.1",
    tls: ssl.SSLContext | None = None,
    path: Path | None = None,
) -> AsyncIterator[str]:
    """Serve on a free loopback port, or a unix socket at *path*, until the block ends.

    Yields:
        The URL.
    """
    talking: set[asyncio.Task[None]] = set()
    numbers = iter(range(10**9))

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talking.add(task)
        task.add_done_callback(talking.discard)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await talk(Guest(reader, writer, next(numbers)))
        writer.close()

    if path is not None:
        server = await asyncio.start_unix_server(converse, path)
        url = f"http+unix://{str(path).replace('/', '%2F')}/"
    else:
        server = await asyncio.start_server(converse, host, 0, ssl=tls)
        shown = f"[{host}]" if ":" in host else host
        url = f"http{'s' if tls else ''}://{shown}:{server.sockets[0].getsockname()[1]}/"
    async with server:
        yield url
        for task in tuple(talking):
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
