"""One client, its connection to upstream, and the two flows between them."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Callable
from typing import cast

from fault_proxy.counts import Counts
from fault_proxy.faults.active import ActiveFaults
from fault_proxy.faults.documents import AnyByteFault
from fault_proxy.faults.effects import Ending
from fault_proxy.faults.hits import effect_of
from fault_proxy.flow import Flow
from fault_proxy.http11 import HttpLink

LINGER_S = 1.0  # how long a connection closed by a fault waits for its ends to close too
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connection:
    """Passes bytes, ends of streams and resets between a client and upstream.

    Args:
        loop: The event loop of all.
        faults: What is on.
        counts: Where requests are counted.
        on_closed: Called once both ends are closed.
    """

    __slots__ = (
        "_ends",
        "_faults",
        "_http",
        "_is_raw",
        "_linger",
        "_loop",
        "_on_closed",
        "client",
        "downstream",
        "is_hit",
        "server",
        "touched_by",
        "upstream",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        faults: ActiveFaults,
        counts: Counts,
        on_closed: Callable[["Connection"], None],
    ) -> None:
        self._loop = loop
        self._faults = faults
        self._on_closed = on_closed
        self._linger: asyncio.TimerHandle | None = None
        self.is_hit = False
        self.touched_by: set[str] = set()  # faults of bytes that are on and did something to it
        self.upstream = Flow(loop, self._on_end, self._on_touch)
        self.downstream = Flow(loop, self._on_end, self._on_touch)
        self._http: HttpLink | None = HttpLink(
            self.upstream, self.downstream, faults, counts, self._turn_raw
        )
        self.client = End(self, source_of=self.upstream, sink_of=self.downstream)
        self.server = End(self, source_of=self.downstream, sink_of=self.upstream)
        self.client.receive = self._http.take_requests
        self.server.receive = self._http.take_replies

    @property
    def is_over(self) -> bool:
        """Whether nothing passes any more."""
        return self.upstream.is_over and self.downstream.is_over

    @property
    def is_standing(self) -> bool:
        """Whether both ends may still send: one that was left by either is of no more use."""
        return not (self.upstream.has_source_ended or self.downstream.has_source_ended)

    def hit(self, fault_id: str, fault: AnyByteFault, chance: random.Random) -> None:
        """Put a fault on, in its directions."""
        self.is_hit = True
        now_s = self._loop.time()
        for direction in fault.directions:
            flow = self.upstream if direction == "upstream" else self.downstream
            if not flow.is_over:
                flow.attach(fault_id, effect_of(fault, now_s, random.Random(chance.random())))

    def release(self, fault_id: str) -> None:
        """Take a fault off; what it holds back goes on."""
        if self._http is not None:
            self._http.release(fault_id)
        self.touched_by.discard(fault_id)
        self.upstream.detach(fault_id)
        self.downstream.detach(fault_id)

    def reset(self) -> None:
        """Close both ends at once, with a RST."""
        self.upstream.drop()
        self.downstream.drop()
        self.client.reset()
        self.server.reset()

    def abandon(self) -> None:
        """Close both ends at once; one that is about to open may never tell that it is closed."""
        self.reset()
        self.client.connection_lost(None)
        self.server.connection_lost(None)

    def has_ended(self, end: "End") -> None:
        """Take note that *end* sends no more (FIN)."""
        if self._http is not None:
            if end is self.client:
                self._http.end_requests()
            else:
                self._http.end_replies()
        end.source_of.has_source_ended = True
        end.source_of.end(Ending.EOF)
        self._close_if_done()

    def has_lost(self, end: "End", error: Exception | None) -> None:
        """Take note that *end* is closed: by us, or reset by the peer if there is an *error*."""
        end.sink_of.drop()
        end.source_of.has_source_ended = True
        if error is not None:
            end.source_of.end(Ending.RESET)
        if self.client.is_closed and self.server.is_closed:
            if self._linger is not None:
                self._linger.cancel()
            self._on_closed(self)

    def _turn_raw(self) -> None:
        self._http = None
        self.client.receive = self.upstream.send
        self.server.receive = self.downstream.send

    def _on_touch(self, fault_id: str) -> None:
        if fault_id not in self.touched_by:
            self.touched_by.add(fault_id)
            self._faults.count_touched(fault_id)

    def _on_end(self, flow: Flow, ending: Ending) -> None:
        del flow
        match ending:
            case Ending.EOF:
                self._close_if_done()
            case Ending.CLOSE:
                self._close_in_order()
            case Ending.RESET:
                self.reset()

    def _close_in_order(self) -> None:
        """Send a FIN to both ends; bytes that they still send would turn it into a RST: wait."""
        self.upstream.shut()
        self.downstream.shut()
        self._linger = self._loop.call_later(LINGER_S, self._close)
        self._close_if_done()

    def _close_if_done(self) -> None:
        flows = (self.upstream, self.downstream)
        if all(flow.is_over and flow.has_source_ended for flow in flows):
            self._close()

    def _close(self) -> None:
        self.client.close()
        self.server.close()


class End(asyncio.Protocol):
    """One end of a connection: the source of one flow and the sink of the other."""

    __slots__ = ("_connection", "is_closed", "receive", "sink_of", "source_of", "transport")

    receive: Callable[[bytes], None]

    def __init__(self, connection: Connection, *, source_of: Flow, sink_of: Flow) -> None:
        self._connection = connection
        self.source_of = source_of
        self.sink_of = sink_of
        self.transport: asyncio.Transport | None = None
        self.is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the flows know."""
        if self.is_closed:  # the other end was reset meanwhile
            transport.close()
            return
        self.transport = cast("asyncio.Transport", transport)
        self.source_of.has_source(self.transport)
        self.sink_of.has_sink(self.transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        self.receive(data)

    def eof_received(self) -> bool:
        """Pass the end on; this end may still receive."""
        self._connection.has_ended(self)
        return True

    def pause_writing(self) -> None:
        """Slow the other end down."""
        self.sink_of.sink_is_full()

    def resume_writing(self) -> None:
        """Let the other end go on."""
        self.sink_of.sink_has_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the other end know of a reset."""
        if not self.is_closed:
            self.is_closed = True
            self._connection.has_lost(self, exc)

    def close(self) -> None:
        """Close once everything is sent."""
        if self.transport is not None:
            self.transport.close()

    def reset(self) -> None:
        """Close now, with a RST."""
        if self.transport is None:
            self.connection_lost(None)
            return
        if self.is_closed:
            return
        with contextlib.suppress(OSError, ValueError):  # the descriptor is gone already
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
            )
        self.transport.abort()
