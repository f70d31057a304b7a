"""The proxy: a port, an upstream, and the faults between them."""

import asyncio
import random
import socket
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from fault_proxy.address import HostPort
from fault_proxy.connection import Connection
from fault_proxy.counts import Counts, own_want
from fault_proxy.faults.active import ActiveFault, ActiveFaults
from fault_proxy.faults.documents import AnyByteFault, AnyFault, Refuse
from fault_proxy.listener import Listener
from fault_proxy.watch import Watch


class Proxy:
    """A TCP proxy that passes everything on unchanged until a fault is applied.

        async with Proxy("127.0.0.1:0", "127.0.0.1:6379", seed=1) as proxy:
            fault = proxy.apply(Latency(delay_ms=100))
            ...
            proxy.end(fault.id)

    Args:
        listen: `host:port` for the clients; port 0 for a free one, told by `address`.
        upstream: `host:port` of the server; looked up anew for each connection.
        seed: Gives the faults that name no seed theirs; None: picked.

    Raises:
        ValueError: an address is malformed.
        OSError: on entering, `listen` cannot be bound.

    All methods are called in the event loop that entered it, and none of them waits.
    """

    def __init__(self, listen: str, upstream: str, *, seed: int | None = None) -> None:
        self._listen = HostPort.read(listen)
        self._upstream = HostPort.read(upstream)
        self._seeds = random.SystemRandom() if seed is None else random.Random(seed)
        self._counts = Counts()
        self._connections: dict[Connection, None] = {}  # in the order of arrival
        self._opening: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._all_closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Listen."""
        self._loop = asyncio.get_running_loop()
        self._faults = ActiveFaults(
            self._loop, self._seeds, on_begin=self._begin, on_end=self._release
        )
        self._listener = Listener(
            self._loop, self._listen.host, self._listen.port, self._accepted, self._count_want
        )
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        self._listener.listen()
        self._watch = Watch(self._loop)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Reset all connections and end all faults."""
        self._is_closing = True
        self._watch.stop()
        self._listener.close()
        for task in self._opening:
            task.cancel()
        for connection in tuple(self._connections):
            connection.reset()
        self._faults.take_all_off()
        self._look_whether_closed()
        # A group would wrap any error of the body; only a cancellation may be its own doing.
        is_cancelled = isinstance(error, asyncio.CancelledError)
        await self._tasks.__aexit__(
            *((kind, error, traceback) if is_cancelled else (None, None, None))
        )
        await self._all_closed.wait()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens: host and port."""
        return self._listener.address

    def apply(self, fault: AnyFault) -> ActiveFault:
        """Put *fault* on beside those that are on: connections that stand are hit too."""
        return self._faults.put_on(fault)

    def renew(self, fault_id: str, ttl_s: float) -> ActiveFault | None:
        """Let a fault last *ttl_s* from now; None if it is not on."""
        return self._faults.renew(fault_id, ttl_s)

    def end(self, fault_id: str) -> bool:
        """Take a fault off; False if it is not on."""
        return self._faults.take_off(fault_id)

    def end_all(self) -> None:
        """Take every fault off."""
        self._faults.take_all_off()

    def faults(self) -> Sequence[ActiveFault]:
        """Return the faults that are on, the oldest first."""
        return self._faults.all()

    @property
    def applied(self) -> int:
        """How many faults have been put on since the start."""
        return self._faults.applied

    def tell(self, fault: ActiveFault) -> dict[str, object]:
        """Return what `/faults` tells of a fault."""
        members = self._faults.as_wire(fault)
        if isinstance(fault.fault, AnyByteFault):
            standing = [each for each in self._connections if each.is_standing]
            touched = [each for each in standing if fault.id in each.touched_by]
            members["standing"] = {"arrived": len(standing), "touched": len(touched)}
        return members

    def counts(self) -> Counts:
        """Return what the proxy has seen so far."""
        flows = [(each.upstream, each.downstream) for each in self._connections]
        return replace(
            self._counts,
            open_connections=len(flows),
            stalled_s=self._watch.stalled_s(),
            upstream_bytes=self._counts.upstream_bytes + sum(up.passed_bytes for up, _ in flows),
            downstream_bytes=self._counts.downstream_bytes
            + sum(down.passed_bytes for _, down in flows),
        )

    def _accepted(self, client: socket.socket) -> None:
        connection = Connection(self._loop, self._faults, self._counts, self._closed)
        self._connections[connection] = None
        self._counts.connections += 1
        for active, fault in self._faults.on_connections():
            self._roll(active, fault, connection, is_standing=False)
        task = self._tasks.create_task(self._open(connection, client))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, connection: Connection, client: socket.socket) -> None:
        """Join the client with upstream; where upstream is not to be had the client is reset."""
        try:
            await self._loop.connect_accepted_socket(lambda: connection.client, client)
            await self._loop.create_connection(
                lambda: connection.server, self._upstream.host, self._upstream.port
            )
        except OSError as failure:
            if not self._count_want(failure):
                self._counts.unreachable += 1
            connection.reset()
        except asyncio.CancelledError:
            connection.abandon()
            client.close()
            raise

    def _count_want(self, failure: OSError) -> bool:
        """Count a connection that the proxy lacked something for; False if that is not why."""
        want = own_want(failure)
        if want:
            self._counts.own_failures[want] += 1
        return bool(want)

    def _closed(self, connection: Connection) -> None:
        del self._connections[connection]
        self._look_whether_closed()
        self._counts.upstream_bytes += connection.upstream.passed_bytes
        self._counts.downstream_bytes += connection.downstream.passed_bytes

    def _look_whether_closed(self) -> None:
        if self._is_closing and not self._connections:
            self._all_closed.set()

    def _begin(self, active: ActiveFault) -> None:
        if isinstance(active.fault, Refuse):
            self._listener.refuse()
        elif isinstance(active.fault, AnyByteFault):
            for connection in [each for each in self._connections if not each.is_over]:
                self._roll(active, active.fault, connection, is_standing=True)

    def _roll(
        self,
        active: ActiveFault,
        fault: AnyByteFault,
        connection: Connection,
        *,
        is_standing: bool,
    ) -> None:
        chance = active.roll_connection(fault.probability, is_standing=is_standing)
        if chance is not None:
            self._counts.hit_connections += not connection.is_hit
            connection.hit(active.id, fault, chance)

    def _release(self, active: ActiveFault) -> None:
        refused = any(isinstance(each.fault, Refuse) for each in self._faults.all())
        if not refused and not self._is_closing:
            self._listener.listen()
        for connection in tuple(self._connections):
            connection.release(active.id)
