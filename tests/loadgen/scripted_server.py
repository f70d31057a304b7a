"""A real HTTP server whose replies a test writes byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Script = Callable[[int], bytes | None]  # request number from 0 -> reply; None: close without one


@dataclass
class ScriptedServer:
    """What a test asks of the server: its URL and what it saw."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    concurrent: int = 0
    most_concurrent: int = 0


def json_reply(body: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@asynccontextmanager
async def scripted_server(script: Script, *, delay_s: float = 0.0) -> AsyncIterator[ScriptedServer]:
    """Serve on a free loopback port until the block ends."""
    seen = ScriptedServer(url="")

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number = len(seen.requests)
                seen.requests.append(head)
                seen.concurrent += 1
                seen.most_concurrent = max(seen.most_concurrent, seen.concurrent)
                await asyncio.sleep(delay_s)
                seen.concurrent -= 1
                reply = script(number)
                if reply is None:
                    break
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with server:
        seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield seen
