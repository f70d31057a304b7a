"""Brings requests and connections together, and records how each request ended."""

import asyncio
import itertools
import math
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from loadgen.classify import BodyJudge, Classifier
from loadgen.connection import Connection
from loadgen.endings import Ending, Endings
from loadgen.failures import CLOSING_RACE, failed, no_connection, not_connected
from loadgen.load import Closed, Load
from loadgen.origins import OriginPool, Waiting
from loadgen.prepared import PreparedRequest, prepare
from loadgen.samples import Record, Unfinished
from loadgen.turns import weighted_turns
from loadgen.unjudged import MOST_UNJUDGED, Unjudged, judged

if TYPE_CHECKING:
    from loadgen.tickets import Source

NOT_SENT = math.nan


class Dispatcher:
    """Hands requests to connections, and opens these as they are needed.

    A request goes to the idle connection that was used last. Where there is none it waits, and one
    is opened for it unless there are as many as there may be; it then goes to whichever connection
    is free first. Moments are of `time.perf_counter`.

    Attributes:
        source: where requests come from; to be set before any is submitted.
        done: is set once all requests have ended.
        connections: all that are open.
        pools: what each origin has idle and waiting.
        opened: how many connections were opened so far.
        queued: how many requests found as many connections busy as there may be.
        lone: the only payload of the load, while connections may be used again without a look.
        unjudged: the latest replies; `settle` now and then.
    """

    __slots__ = (
        "_connect_s",
        "_is_wary",
        "_most",
        "_next_request",
        "_openings",
        "_race",
        "_record",
        "_taken",
        "_unfinished",
        "classifier",
        "connections",
        "done",
        "endings",
        "keep_alive",
        "lone",
        "opened",
        "pools",
        "queued",
        "source",
        "unjudged",
    )

    def __init__(self, load: Load, *, record: Record, endings: Endings) -> None:
        self.endings = endings
        self.classifier = Classifier(load.outcome, endings)
        self.keep_alive = load.keep_alive
        self.done = asyncio.Event()
        self.connections: set[Connection] = set()
        self.opened = self.queued = 0
        self.source: Source
        self._record = record
        self._connect_s = load.time_outs.connect_s
        shape = load.shape
        self._most = shape.tasks if isinstance(shape, Closed) else shape.max_connections
        self._taken = 0  # connections that are open or being made
        self._unfinished = 0
        self.unjudged: list[Unjudged] = []
        self._openings: set[asyncio.Task[None]] = set()
        requests = prepare(load)
        self.pools = {
            request.origin: OriginPool(request.origin, verify_tls=load.verify_tls)
            for request, *_ in requests
        }
        self._next_request = _in_turn(load, requests)
        self._race = endings.code(failed(CLOSING_RACE))
        self.lone = requests[0][0] if len(requests) == 1 == len(requests[0]) else None
        self._is_wary = False

    def submit(self, scheduled: float, now: float) -> None:
        """Take on a request that fell due at *scheduled*."""
        self._unfinished += 1
        request = self._next_request()
        pool = self.pools[request.origin]
        while pool.idle:
            connection, _ = pool.idle.popitem()
            if self._is_usable(connection, now):
                connection.send(request, scheduled, now)
                return
        pool.waiting.append(Waiting(scheduled, request))
        self.queued += self._taken >= self._most and scheduled >= self.source.began
        self._open_more(pool)

    def replied(
        self, connection: Connection, finished: float, judge: BodyJudge, body: bytes
    ) -> None:
        """Send the next request on a connection that is free again; note the one before."""
        unjudged = self.unjudged
        unjudged.append(
            (
                connection.scheduled,
                connection.sent,
                connection.first_byte,
                finished,
                connection.request.number,  # type: ignore[union-attr] # it is its reply
                judge,
                body,
            )
        )
        lone = self.lone
        if lone is not None and (due := self.source.take(finished)) is not None:
            connection.send(lone, due, finished)
            if len(unjudged) >= MOST_UNJUDGED:
                self.settle()
            return
        self.settle()
        connection.request = None
        self._free_connection(connection, finished)
        self._free_task(finished)

    def settle(self) -> None:
        """Judge and record the replies that have not been yet."""
        rows = judged(self.unjudged, self.source.began)
        self.unjudged.clear()
        self._record(rows)

    def lost(self, connection: Connection, finished: float, ending: int | None) -> None:
        """Record the request that ended with its connection, if there was one; replace that."""
        self.connections.discard(connection)
        connection.pool.idle.pop(connection, None)
        self._taken -= 1
        if ending is not None:
            if ending == self._race:
                self._is_wary = True
                self.lone = None
            request = connection.request
            assert request is not None  # noqa: S101 - it has just ended
            sent, first_byte = connection.sent, connection.first_byte
            self._note(request, connection.scheduled, sent, first_byte, finished, ending)
            self._free_task(finished)
        for pool in self.pools.values():
            self._open_more(pool)

    def fail_waiting(self, pool: OriginPool, ending: Ending, now: float) -> None:
        """End the request that waits longest for a connection; nothing if none does."""
        if pool.waiting:
            waiting = pool.waiting.popleft()
            code = self.endings.code(ending)
            self._note(waiting.request, waiting.scheduled, NOT_SENT, NOT_SENT, now, code)
            self._free_task(now)

    def unfinished(self) -> Iterator[Unfinished]:
        """Yield the requests that count and have not ended: those sent, then those waiting."""
        began = self.source.began
        for connection in self.connections:
            if connection.request is not None and connection.scheduled >= began:
                due_s, sent_s = connection.scheduled - began, connection.sent - began
                yield Unfinished(due_s, sent_s, connection.request.number)
        for pool in self.pools.values():
            for scheduled, request in pool.waiting:
                if scheduled >= began:
                    yield Unfinished(scheduled - began, None, request.number)

    def check_done(self) -> None:
        """Set `done` if no request is under way and none will come."""
        if not self._unfinished and self.source.is_over:
            self.done.set()

    async def close(self) -> None:
        """Drop all connections, made or being made; what has been answered is recorded."""
        self.settle()
        for opening in self._openings:
            opening.cancel()
        await asyncio.gather(*self._openings, return_exceptions=True)
        for connection in self.connections:
            connection.abort()
        self.connections.clear()
        await asyncio.sleep(0)  # the loop closes sockets in its next round

    def _free_connection(self, connection: Connection, now: float) -> None:
        pool = connection.pool
        if pool.waiting and self._is_usable(connection, now):
            waiting = pool.waiting.popleft()
            connection.send(waiting.request, waiting.scheduled, now)
        elif connection.is_open:
            pool.idle[connection] = None
            self._make_room()

    def _free_task(self, now: float) -> None:
        self._unfinished -= 1
        if (due := self.source.take(now)) is not None:
            self.submit(due, now)
        else:
            self.check_done()

    def _is_usable(self, connection: Connection, now: float) -> bool:
        """Look at an idle connection; once the server has been seen to close some, closely."""
        if connection.is_open and self._is_wary and connection.is_closed_by_peer():
            connection.drop(now)
        return connection.is_open

    def _make_room(self) -> None:
        """Drop an idle connection if it keeps requests for another origin from having one."""
        if self._taken >= self._most and len(self.pools) > 1:
            needy = [pool for pool in self.pools.values() if pool.waiting and not pool.opening]
            idle = [pool for pool in self.pools.values() if pool.idle]
            if needy and idle:
                next(iter(idle[0].idle)).drop(perf_counter())

    def _open_more(self, pool: OriginPool) -> None:
        if len(pool.waiting) <= pool.opening:
            return
        if self._taken >= self._most:
            self._make_room()
            return
        self._taken += 1
        pool.opening += 1
        opening = asyncio.get_running_loop().create_task(self._open(pool))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)

    async def _open(self, pool: OriginPool) -> None:
        connection, ending = None, failed(no_connection(self._connect_s))
        try:
            async with asyncio.timeout(self._connect_s):
                connection = await pool.connect(self)
        except TimeoutError:
            pass  # as the ending says
        except OSError as failure:
            ending = not_connected(failure, is_unix=pool.is_unix)
        pool.opening -= 1
        now = perf_counter()
        if connection is None:
            self._taken -= 1
            self.fail_waiting(pool, ending, now)
        elif not connection.is_open:  # and `lost` has been heard
            self.fail_waiting(pool, failed(connection.why_dropped), now)
        else:
            self.opened += 1
            self.connections.add(connection)
            self._free_connection(connection, now)
        self._open_more(pool)

    def _note(  # noqa: PLR0917 - the columns of a sample, as in Record
        self,
        request: PreparedRequest,
        scheduled: float,
        sent: float,
        first_byte: float,
        finished: float,
        ending: int,
    ) -> None:
        self.unjudged.append(
            (scheduled, sent, first_byte, finished, request.number, lambda _: ending, b"")
        )
        self.settle()


def _in_turn(load: Load, requests: list[list[PreparedRequest]]) -> Callable[[], PreparedRequest]:
    bodies = [itertools.cycle(each) for each in requests]
    if len(bodies) == 1:
        return bodies[0].__next__
    turns = weighted_turns([request.weight for request in load.requests])
    return lambda: next(bodies[next(turns)])
