"""The connections to one origin: idle ones, requests that wait for one, and opening more."""

import asyncio
import socket
import ssl
from collections import deque
from typing import NamedTuple

from loadgen.connection import Connection, Owner
from loadgen.failures import own_want
from loadgen.prepared import PreparedRequest
from loadgen.url import Origin


class Waiting(NamedTuple):
    """A request that is due and has no connection yet."""

    scheduled: float
    request: PreparedRequest


class OriginPool:
    """What is known of one origin, and its connections that nothing is sent on.

    Attributes:
        idle: open connections, the one used last at the end.
        waiting: requests in the order in which they fell due.
        opening: how many connections are being made.
    """

    def __init__(self, origin: Origin, *, verify_tls: bool) -> None:
        self.idle: dict[Connection, None] = {}  # an ordered set
        self.waiting: deque[Waiting] = deque()
        self.opening = 0
        self._origin = origin
        self._tls = _tls_context(verify=verify_tls) if origin.is_tls else None
        self._addresses: list[tuple[socket.AddressFamily, str | tuple[object, ...]]] = []
        self._failure = OSError("the host has no address")
        self._has_connected = False  # then the first address is the one that took a connection

    async def resolve(self) -> None:
        """Look the host up, once for all connections; if it has no address, none can be made."""
        origin = self._origin
        if origin.socket_path:
            self._addresses = [(socket.AF_UNIX, origin.socket_path)]
            return
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        except OSError as failure:
            self._failure = failure
        else:
            self._addresses = [(family, address) for family, _, _, _, address in found]

    async def connect(self, owner: Owner) -> Connection:
        """Open a connection to the first address that takes one, the one that last did first.

        Raises:
            OSError: none of the addresses does; see `_telling`.
        """
        failures = []
        for place, (family, address) in enumerate(self._addresses):
            try:
                connection = await self._connect_to(family, address, owner)
            except OSError as problem:
                failures.append(problem)
                continue
            if place:
                self._addresses.insert(0, self._addresses.pop(place))
            self._has_connected = True
            return connection
        raise self._telling(failures)

    @property
    def is_unix(self) -> bool:
        """Whether the host is a unix socket."""
        return bool(self._origin.socket_path)

    def _telling(self, failures: list[OSError]) -> OSError:
        """Return the failure that tells most: of the address that took a connection before.

        Without one it is the last that is not this machine's own: where there is no IPv6, a host's
        address of that kind is "not available", which says nothing of the host.
        """
        if not failures:
            return self._failure
        if self._has_connected:
            return failures[0]
        theirs = [failure for failure in failures if not own_want(failure)]
        return (theirs or failures)[-1]

    async def _connect_to(
        self, family: socket.AddressFamily, address: str | tuple[object, ...], owner: Owner
    ) -> Connection:
        loop = asyncio.get_running_loop()
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, address)
            if family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, connection = await loop.create_connection(
                lambda: Connection(owner, self, sock),
                sock=sock,
                ssl=self._tls,
                server_hostname=self._origin.host if self._tls else None,
            )
        except BaseException:
            sock.close()
            raise
        return connection


def _tls_context(*, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
