"""Servers to call for real: a scripted one on bare sockets, and uvicorn in a thread."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import uvicorn

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Return the head of the next request; b"" when the client has hung up."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@contextlib.asynccontextmanager
async def scripted_peer(
    behave: Behaviour, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Run `behave` for each connection to a free loopback port; yield the base URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behave(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def uvicorn_peer(app: object) -> Iterator[str]:
    """Serve an ASGI app from a thread of its own; yield the base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        give_up_at = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < give_up_at, "uvicorn did not start within 10 s"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
