"""Circuit breakers of several processes that share their state through Redis.

Needs the `redis` package, and is therefore not imported by the package itself.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError

from resilience._internal.checks import DAY_S, expect, expect_callable, outside, refuse
from resilience._internal.shared_circuit import Moment, SharedCircuit
from resilience._internal.tasks import cancel_and_wait
from resilience._internal.timing import loop_time_s
from resilience._internal.wire.connections import DEFAULT_MAX_CONNECTION_AGE_S
from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.events import CircuitClosed, CircuitOpened, Event, Handler

__all__ = ["SharedCircuits", "SharingSettings"]

_log = logging.getLogger("resilience")

_WRONG_TYPE = "WRONGTYPE"  # how Redis says that a key holds something else; redis-py has no class


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings:
    """How processes exchange the states of their circuits; the ranges include their ends.

    Attributes:
        poll_s: How often the others' changes are read, in seconds, 10 ms..10 s. At 200 ms, a
            process learns of an open circuit before a failing source has cost it many calls, for
            five small requests per second.
        limit_s: Limit on each exchange, reading or writing, in seconds, 10 ms..10 s; a Redis that
            is slower counts as unavailable.
        connect_limit_s: Limit on connecting in seconds, 10 ms..60 s; 2 s, because handshakes take
            several round trips where an exchange takes one, and no call waits for them.
        max_connection_age_s: How long a connection is used, in seconds, 10 ms..24 h, so that a
            Redis which has moved is found again; 120 as for connections to sources.
        pause_s: How long Redis is left alone after it failed, in seconds, 10 ms..24 h.
        prefix: Begins the names of all keys; the name of the source follows.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    poll_s: float = 0.2
    limit_s: float = 0.1
    connect_limit_s: float = 2.0
    max_connection_age_s: float = DEFAULT_MAX_CONNECTION_AGE_S
    pause_s: float = 1.0
    prefix: str = "resilience:circuit:"

    def __post_init__(self) -> None:
        seconds = "it is in seconds"
        expect("prefix", self.prefix, str, "write it as text")
        refuse(
            outside("poll_s", self.poll_s, 0.01, 10, seconds),
            outside("limit_s", self.limit_s, 0.01, 10, seconds),
            outside("connect_limit_s", self.connect_limit_s, 0.01, 60, seconds),
            outside("max_connection_age_s", self.max_connection_age_s, 0.01, DAY_S, seconds),
            outside("pause_s", self.pause_s, 0.01, DAY_S, seconds),
        )


class SharedCircuits:
    """Keeps circuits of the same name in step across processes.

    When a circuit opens here, the others open for the rest of its break; when a trial here closes
    it, the others close. They know within `poll_s` and three round trips to Redis while that is
    healthy. Each process sends its own trial after the break. What is done by hand stays here:
    `isolate`, after which no other is followed until `reset`, and `reset` itself, after which the
    others stay as they are.

    The latest change holds, by the clock of Redis, so that the clocks of the machines need not
    agree: a change of another process from before a circuit changed here is not followed.

    Calls never wait for any of this: a change of state is only noted, and a task of `sharing`
    carries it to Redis. While Redis fails each circuit stands on what its own process sees.

    Attributes:
        exchanges: How many exchanges with Redis have ended, failed ones included.

    Args:
        redis: A client; its creator closes it.
        breakers: One for each source that is shared; sources of the same name share a circuit.
        subscribe: Takes a handler of the breakers' events, and the kinds that it receives:
            `client.subscribe`, or the `add` of the `Subscribers` that they were built with.
        settings: The rules.

    Raises:
        ValueError: Two breakers share a name.
        TypeError: A breaker is none, such as that of a source without one, or the rest is of a
            wrong kind.
    """

    def __init__(
        self,
        redis: Redis,
        breakers: Iterable[CircuitBreaker],
        *,
        subscribe: Callable[[Handler, Iterable[type[Event]]], object],
        settings: SharingSettings | None = None,
    ) -> None:
        expect("breakers", breakers, Iterable, "list them: [client.breaker(source)]")
        expect_callable("subscribe", subscribe, "pass client.subscribe")
        if settings is not None:
            expect("settings", settings, SharingSettings, "make them SharingSettings(...)")
        self._redis = redis
        self._settings = settings if settings is not None else SharingSettings()
        self._circuits: dict[str, SharedCircuit] = {}
        for breaker in breakers:
            expect("a breaker", breaker, CircuitBreaker, "give the policies of its source one")
            if breaker.name in self._circuits:
                raise ValueError(f"two breakers are named {breaker.name!r}; names must differ")
            self._circuits[breaker.name] = SharedCircuit(breaker)
        self.exchanges = 0
        self._noted = asyncio.Event()
        self._sharing = self._leaving = False
        self._redis_is_unavailable = False
        self._unreadable: set[str] = set()
        subscribe(self._note, (CircuitOpened, CircuitClosed))

    @asynccontextmanager
    async def sharing(self) -> AsyncIterator[None]:
        """Exchange states until the block ends.

        Raises:
            RuntimeError: It is in such a block already: here, or in the process that this one was
                forked from, whose connection to Redis it would use.
        """
        if self._sharing:
            raise RuntimeError(
                "these circuits are shared already; leave that block first, and in a process that "
                "is forked meanwhile, make a Redis client and SharedCircuits of its own"
            )
        self._sharing, self._leaving = True, False
        self._connect_anew_at_s = loop_time_s() + self._settings.max_connection_age_s
        self._noted = asyncio.Event()  # of this event loop
        process = uuid4().hex  # not before: forked processes would have one name
        for circuit in self._circuits.values():
            circuit.process = process
        exchange = asyncio.create_task(self._exchange_until_leaving())
        try:
            yield
        finally:
            # redis-py may lose the cancellation: asyncio.wait_for of Python 3.11 does, when what
            # it waits for is done at the same moment.
            self._leaving = True
            self._noted.set()
            try:
                await cancel_and_wait([exchange])
            finally:
                await self._drop_connections()  # the next block may be on another event loop
                self._sharing = False

    def _note(self, event: Event) -> None:
        circuit = self._circuits.get(event.source)
        if circuit is not None and isinstance(event, CircuitOpened | CircuitClosed):
            circuit.note(event)
            self._noted.set()

    async def _exchange_until_leaving(self) -> None:
        while not self._is_leaving():
            self._noted.clear()
            try:
                await self._exchange()
            except Exception as error:  # noqa: BLE001 - nothing that Redis does may end the block
                self._redis_failed(error)
                if self._is_leaving():
                    break
                await self._reconnect_after(error)
                await asyncio.sleep(self._settings.pause_s)
            else:
                self._redis_answered()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settings.poll_s):
                        await self._noted.wait()

    def _is_leaving(self) -> bool:
        return self._leaving  # a method, because it changes during an await, unseen by mypy

    async def _exchange(self) -> None:
        try:
            await self._connect()
            if self._is_leaving():
                return
            updates = await self._read()
            if updates and not self._is_leaving():
                await self._write(updates)
        finally:
            self.exchanges += 1

    async def _connect(self) -> None:
        """Keep a connection ready, so that an exchange need not make one within its own limit.

        It is made anew after a failure, and when it is old: a server that still responds, even with
        READONLY, LOADING or NOAUTH, would keep it, though its name may lead to another by now.
        """
        pool = self._redis.connection_pool
        async with _limited(self._settings.connect_limit_s, "connecting to it"):
            connection = await pool.get_connection()  # type: ignore[no-untyped-call]
            try:
                if loop_time_s() >= self._connect_anew_at_s:
                    await connection.disconnect()
                    await connection.connect()
                    age_s = self._settings.max_connection_age_s
                    self._connect_anew_at_s = loop_time_s() + age_s
            finally:
                await pool.release(connection)

    async def _reconnect_after(self, error: Exception) -> None:
        self._connect_anew_at_s = -math.inf
        if isinstance(error, RuntimeError):  # "Event loop is closed": that of another asyncio.run
            await self._drop_connections()

    async def _drop_connections(self) -> None:
        """Close the connections that are not in use."""
        with suppress(Exception):
            async with asyncio.timeout(self._settings.limit_s):
                await self._redis.connection_pool.disconnect(inuse_connections=False)

    async def _read(self) -> dict[str, tuple[str, int]]:
        """Pass each circuit its state in Redis; return what to write instead, by key."""
        keys = {self._settings.prefix + name: circuit for name, circuit in self._circuits.items()}
        async with (
            _limited(self._settings.limit_s, "its answer"),
            self._redis.pipeline(transaction=False) as pipeline,
        ):
            pipeline.time()
            for key in keys:
                pipeline.get(key)
                pipeline.pttl(key)
            time, *replies = await pipeline.execute(raise_on_error=False)
        if isinstance(time, Exception):
            raise time
        now = Moment(loop_time_s(), time[0] * 1000 + time[1] // 1000)
        updates = {}
        for (key, circuit), reply, left_ms in zip(
            keys.items(), replies[::2], replies[1::2], strict=True
        ):
            if self._is_readable(key, reply, left_ms):
                update = circuit.receive(_text(reply), left_ms, now)
                if update is not None:
                    updates[key] = update
        return updates

    async def _write(self, updates: dict[str, tuple[str, int]]) -> None:
        async with (
            _limited(self._settings.limit_s, "its answer"),
            self._redis.pipeline(transaction=False) as pipeline,
        ):
            for key, (state, left_ms) in updates.items():
                pipeline.set(key, state, px=left_ms)
            await pipeline.execute()

    def _is_readable(self, key: str, *replies: object) -> bool:
        error = next((reply for reply in replies if isinstance(reply, Exception)), None)
        if error is None:
            self._unreadable.discard(key)
            return True
        if not (isinstance(error, NoPermissionError) or str(error).startswith(_WRONG_TYPE)):
            raise error  # of the server, as LOADING and MASTERDOWN are, and not of this key
        if key not in self._unreadable:
            self._unreadable.add(key)
            _log.warning(
                "the circuit at %r is not shared: %s; delete the key, or let this user read it",
                key,
                error,
            )
        return False

    def _redis_failed(self, error: Exception) -> None:
        if not self._redis_is_unavailable:
            self._redis_is_unavailable = True
            _log.warning(
                "circuits are not shared while Redis fails: %s: %s; trying again every %g s",
                type(error).__name__,
                error,
                self._settings.pause_s,
            )

    def _redis_answered(self) -> None:
        if self._redis_is_unavailable:
            self._redis_is_unavailable = False
            _log.info("circuits are shared again: Redis replies")


@asynccontextmanager
async def _limited(limit_s: float, what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise TimeoutError(f"{what} took longer than {limit_s:g} s") from None


def _text(reply: object) -> str:
    if isinstance(reply, bytes):
        return reply.decode(errors="replace")
    return reply if isinstance(reply, str) else ""
