"""Ends requests that take too long, at no cost to those that do not."""

import asyncio
import math
from time import perf_counter

from loadgen.connection import Connection
from loadgen.dispatch import Dispatcher
from loadgen.failures import (
    failed,
    no_complete_reply,
    no_connection,
    no_first_byte,
    no_free_connection,
)
from loadgen.load import TimeOuts

SOONEST_S = 0.001  # the step of the loop's timers


class Deadlines:
    """Looks at all requests under way whenever the first of their time-outs can be over.

    No request can run out earlier than the oldest one under way, nor earlier than the shortest
    limit from now if it is not sent yet. So one timer, set to the sooner of the two, is exact, and
    sending a request needs neither a timer nor an entry in a queue.
    """

    def __init__(self, time_outs: TimeOuts, dispatcher: Dispatcher) -> None:
        self._whole_s = time_outs.whole_s
        self._first_byte_s = time_outs.first_byte_s or math.inf
        self._dispatcher = dispatcher
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(min(self._whole_s, self._first_byte_s), self._check)

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _check(self) -> None:
        now = perf_counter()
        soonest = now + min(self._whole_s, self._first_byte_s)
        for connection in tuple(self._dispatcher.connections):
            if connection.request is not None:
                soonest = min(soonest, self._check_one(connection, now))
        soonest = min(soonest, self._check_waiting(now))
        self._timer = self._loop.call_later(max(SOONEST_S, soonest - now), self._check)

    def _check_one(self, connection: Connection, now: float) -> float:
        """End the request on *connection* if it is late; return when it will be."""
        whole = connection.scheduled + self._whole_s
        first_byte = math.inf
        if not connection.is_mid_reply:
            first_byte = connection.sent + self._first_byte_s
        if whole <= now:
            connection.fail(no_complete_reply(self._whole_s), now)
        elif first_byte <= now:
            connection.fail(no_first_byte(self._first_byte_s), now)
        else:
            return min(whole, first_byte)
        return math.inf

    def _check_waiting(self, now: float) -> float:
        soonest = math.inf
        for pool in self._dispatcher.pools.values():
            while pool.waiting and pool.waiting[0].scheduled + self._whole_s <= now:
                describe = no_connection if pool.opening else no_free_connection
                self._dispatcher.fail_waiting(pool, failed(describe(self._whole_s)), now)
            if pool.waiting:
                soonest = min(soonest, pool.waiting[0].scheduled + self._whole_s)
        return soonest
