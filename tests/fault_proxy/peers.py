"""The two ends of a link in a test: plain sockets, and an HTTP service that tells what it saw."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Self

PATIENCE_S = 10.0


class Peer:
    """A raw socket; every wait is bounded."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        self.raw = raw
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def connect(cls, address: tuple[str, int]) -> Self:
        """Return a connected socket."""
        peer = cls(socket.socket())
        try:
            async with asyncio.timeout(PATIENCE_S):
                await peer._loop.sock_connect(peer.raw, address)
        except BaseException:
            peer.close()
            raise
        return peer

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        async with asyncio.timeout(PATIENCE_S):
            await self._loop.sock_sendall(self.raw, data)

    async def receive_some(self, most: int = 2**18, within_s: float | None = PATIENCE_S) -> bytes:
        """Return what comes next; nothing at the end of the stream."""
        async with asyncio.timeout(within_s):
            return await self._loop.sock_recv(self.raw, most)

    async def receive(self, count: int, within_s: float | None = PATIENCE_S) -> bytes:
        """Return `count` bytes, or fewer if the stream ends before."""
        received = b""
        async with asyncio.timeout(within_s):
            while len(received) < count:
                left = min(2**18, count - len(received))
                if not (data := await self.receive_some(left, within_s=None)):
                    break
                received += data
        return received

    async def receive_all(self, within_s: float | None = PATIENCE_S) -> bytes:
        """Return what comes until the end of the stream."""
        return await self.receive(2**40, within_s)

    async def receives_nothing(self, for_s: float) -> bool:
        """Whether neither bytes nor an end come in the given time."""
        try:
            await self.receive(1, within_s=for_s)
        except TimeoutError:
            return True
        return False

    async def ask(self, request: bytes) -> bytes:
        """Send `request` and return the reply."""
        await self.send(request)
        return await self.message()

    async def message(self, within_s: float | None = PATIENCE_S) -> bytes:
        """Return an HTTP message whose head gives its length; nothing at the end of the stream."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = await self.receive(1, within_s)
            if not byte:
                return head
            head += byte
        _, _, after = head.lower().partition(b"content-length: ")
        return head + await self.receive(int(after.split(b"\r\n")[0] or 0), within_s)

    def end(self) -> None:
        """Send no more (FIN)."""
        self.raw.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close both directions with a RST."""
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.raw.close()

    def close(self) -> None:
        """Close both directions."""
        self.raw.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Upstream:
    """A listening socket whose connections the test takes and plays itself."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(100)
        self.address = "{}:{}".format(*self._socket.getsockname())

    async def accept(self, within_s: float | None = PATIENCE_S) -> Peer:
        """Return the next connection."""
        async with asyncio.timeout(within_s):
            accepted, _ = await asyncio.get_running_loop().sock_accept(self._socket)
        return Peer(accepted)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


@asynccontextmanager
async def serving(handler: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[str]:
    """Yield the address of a server whose connections `handler` serves."""
    upstream = Upstream()
    peers: list[Peer] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(peer: Peer) -> None:
        with contextlib.suppress(ConnectionError):
            await handler(peer)
        peer.close()

    async def accept() -> None:
        while True:
            peers.append(await upstream.accept(within_s=None))
            tasks.add(asyncio.create_task(serve(peers[-1])))

    tasks.add(asyncio.create_task(accept()))
    try:
        yield upstream.address
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for peer in peers:
            peer.close()
        upstream.close()


async def echo(peer: Peer) -> None:
    """Send back what comes."""
    while data := await peer.receive_some(within_s=None):
        await peer.send(data)


class HttpService:
    """Answers each request with the same bytes, and remembers the requests."""

    BODY = b'{"code": "USD", "value": 41.2031}'
    REPLY = (
        b"HTTP/1.1 200 OK\r\nserver:  odd   spaces\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
    )

    def __init__(self, reply: bytes = REPLY) -> None:
        self.reply = reply
        self.seen: list[bytes] = []

    async def handle(self, peer: Peer) -> None:
        """Serve one connection."""
        while request := await peer.message(within_s=None):
            self.seen.append(request)
            await peer.send(self.reply)
