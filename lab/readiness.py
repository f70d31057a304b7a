"""Is a service ready? An HTTP service answers 200 on its path, a Redis answers PING."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx

ONE_PROBE_S = 1.0


Probe = Callable[[], Awaitable[bool]]  # asks once and raises nothing, unless cancelled


def http_probe(http: httpx.AsyncClient, url: str) -> Probe:
    """Return a probe that is true when GET *url* is answered with 200 within ONE_PROBE_S."""

    async def probe() -> bool:
        try:
            reply = await http.get(url, timeout=ONE_PROBE_S)
        except httpx.HTTPError:
            return False
        return reply.status_code == httpx.codes.OK

    return probe


def tcp_probe(port: int) -> Probe:
    """Return a probe that is true when a loopback port accepts connections."""

    async def probe() -> bool:
        try:
            async with asyncio.timeout(ONE_PROBE_S):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    return probe


def redis_probe(url: str) -> Probe:
    """Return a probe that is true when the server at *url* answers PING.

    A server that wants a password answers with an error: it is there, and its clients have the
    URL with the password in it.
    """
    parts = urlsplit(url)

    async def probe() -> bool:
        try:
            async with asyncio.timeout(ONE_PROBE_S):
                reader, writer = await asyncio.open_connection(
                    parts.hostname or "127.0.0.1", parts.port or 6379
                )
                try:
                    writer.write(b"PING\r\n")
                    answer = await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))

    return probe
