"""Looks host names up in threads that nobody shares."""

import asyncio
import socket
from contextlib import suppress
from threading import Thread

from aiohttp.abc import AbstractResolver, ResolveResult

_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV

Addresses = list[ResolveResult]


class OwnThreadResolver(AbstractResolver):
    """Asks the system, as aiohttp's own resolver does, in a thread for each look-up.

    The loop's threads are few and shared, and a look-up that hangs cannot be stopped: a few sick
    names would keep every other source from finding its host, and the process from its end.
    aiohttp keeps what was found, and asks once at a time for each name, so that threads are few.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> Addresses:
        """Return the addresses of `host`.

        Raises:
            OSError: The name is unknown, or nobody knows it now.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Addresses] = loop.create_future()

        def look_up() -> None:
            found: Addresses | Exception
            try:
                found = _addresses(host, port, family)
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                found = error
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(_settle, answer, found)

        Thread(target=look_up, name=f"name-lookup-{host}", daemon=True).start()
        return await answer

    async def close(self) -> None:
        """Do nothing: a look-up that hangs ends when the system lets it, or with the process."""


def _settle(answer: asyncio.Future[Addresses], found: Addresses | Exception) -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


def _addresses(host: str, port: int, family: socket.AddressFamily) -> Addresses:
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
