"""The port that clients connect to, which may refuse them and take them again."""

import asyncio
import select
import socket
from collections.abc import Callable
from typing import Any

BACKLOG = 2048
_RETRY_S = 0.1
_MOST_AT_ONCE = 64  # accepted before others have their turn


class Listener:
    """Accepts connections on one address.

    While it refuses, the port stays reserved by a socket that is bound and does not listen: the
    kernel answers connects with a RST, and gives the port to nobody who asks for a free one.

    Args:
        loop: The event loop that accepts.
        host: Name or address.
        port: 0 for a free one.
        on_accept: Called with each connection, in the order of arrival.
        on_failure: Called with the error when none can be accepted, once until one can.

    Raises:
        OSError: the address cannot be bound.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: str,
        port: int,
        on_accept: Callable[[socket.socket], None],
        on_failure: Callable[[OSError], object],
    ) -> None:
        self._loop = loop
        self._on_accept = on_accept
        self._on_failure = on_failure
        self._is_short = False  # of descriptors or memory
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self._family: int = family
        self._address: tuple[Any, ...] = address
        self._reservation = self._bound()
        self._address = self._reservation.getsockname()
        self._socket: socket.socket | None = None
        self._retry: asyncio.TimerHandle | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self._address[0], self._address[1]

    def listen(self) -> None:
        """Take connections."""
        if self._socket is None:
            self._socket = self._bound()
            self._socket.listen(BACKLOG)
            self._loop.add_reader(self._socket, self._accept)

    def refuse(self) -> None:
        """Take none; those not accepted yet are reset."""
        if self._retry is not None:
            self._retry.cancel()
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """Give the port back."""
        self.refuse()
        self._reservation.close()

    def _bound(self) -> socket.socket:
        bound = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(self._address)
        except OSError:
            bound.close()
            raise
        return bound

    def _accept(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            if self._socket is None:
                return
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as failure:  # no descriptors left: the queue waits until there are
                if not _has_waiting(self._socket):  # asked for a descriptor before it looked
                    return
                if not self._is_short:
                    self._is_short = True
                    self._on_failure(failure)
                self._loop.remove_reader(self._socket)
                self._retry = self._loop.call_later(_RETRY_S, self._accept_again)
                return
            self._is_short = False
            accepted.setblocking(False)
            self._on_accept(accepted)

    def _accept_again(self) -> None:
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._accept)


def _has_waiting(listening: socket.socket) -> bool:
    poller = select.poll()
    poller.register(listening, select.POLLIN)
    return bool(poller.poll(0))
