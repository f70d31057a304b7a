"""Looks host names up in threads of a source's own."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

_THREADS = 2
_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV


class OwnThreadsResolver(AbstractResolver):
    """Asks the system, as aiohttp's own resolver does.

    The loop's threads are few and shared, and a look-up that hangs cannot be stopped: a few sick
    names would keep every other source from finding its host.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="name-lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host`.

        Raises:
            OSError: The name is unknown, or nobody knows it now.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _addresses, host, port, family)

    async def close(self) -> None:
        """Start no more look-ups; one that hangs ends when the system lets it."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    found = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
    )
    return [
        ResolveResult(
            hostname=host,
            host=socket.getnameinfo(address, _NUMERIC)[0],
            port=port,
            family=its_family,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for its_family, _, protocol, _, address in found
    ]
