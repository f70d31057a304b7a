"""Circuit breakers of several processes that tell each other, through Redis, when they open.

Needs the `redis` package, and is therefore not imported by the package itself.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from redis.asyncio import Redis

from resilience.circuit_breaker import CircuitBreaker
from resilience.errors import OpenedElsewhere
from resilience.events import CircuitClosed, CircuitOpened, Event
from resilience.kinds import expect
from resilience.ranges import DAY_S, outside, refuse
from resilience.subscribers import Handler
from resilience.tasks import cancel_and_wait

_log = logging.getLogger("resilience")

_OPEN = "open"
_CLOSED = "closed"
_CLOSED_IS_KEPT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings:
    """How processes exchange the states of their circuits; the ranges include their ends.

    Attributes:
        poll_s: How often the others' changes are read, in seconds, 10 ms..10 s. At 200 ms, a
            process learns of an open circuit before a sick source has cost it many calls, for
            five small requests a second.
        limit_s: Limit on each exchange in seconds, 10 ms..10 s; a Redis that is slower counts as
            away.
        pause_s: How long Redis is left alone after it failed, in seconds, 10 ms..24 h.
        prefix: Begins the names of all keys; the name of the source follows.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    poll_s: float = 0.2
    limit_s: float = 0.1
    pause_s: float = 1.0
    prefix: str = "resilience:circuit:"

    def __post_init__(self) -> None:
        expect("prefix", self.prefix, str, "write it as text")
        refuse(
            outside("poll_s", self.poll_s, 0.01, 10, "it is in seconds"),
            outside("limit_s", self.limit_s, 0.01, 10, "it is in seconds"),
            outside("pause_s", self.pause_s, 0.01, DAY_S, "it is in seconds"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What a circuit changed to; it holds until `until_s` on the event loop's clock."""

    state: str
    until_s: float


class SharedCircuits:
    """Keeps circuits of the same name in step across processes.

    When a circuit opens here, the others open for the rest of its break; when a trial here closes
    it, the others close. They know within `poll_s` and two exchanges while Redis is well. Each
    process sends its own trial after the break, and isolation by hand stays here.

    Calls never wait for any of this: a change of state is only noted, and a task of `sharing`
    carries it to Redis. While Redis fails each circuit stands on what its own process sees.
    Times travel as what is left of them, so the clocks of the machines need not agree.

    Args:
        redis: A client; whoever made it closes it.
        breakers: One for each source that is shared; sources of the same name share a circuit.
        subscribe: Takes a handler of the breakers' events: `client.subscribe`, or the `add` of
            the `Subscribers` that they were built with.
        settings: The rules.
    """

    def __init__(
        self,
        redis: Redis,
        breakers: Iterable[CircuitBreaker],
        *,
        subscribe: Callable[[Handler], None],
        settings: SharingSettings | None = None,
    ) -> None:
        self._redis = redis
        self._breakers = {breaker.name: breaker for breaker in breakers}
        self._settings = settings if settings is not None else SharingSettings()
        self._me = uuid4().hex
        self._notes: dict[str, _Change] = {}
        self._noted = asyncio.Event()
        self._known: dict[str, str] = {}
        self._obeying = False
        self._leaving = False
        self._redis_is_away = False
        subscribe(self._note)

    @asynccontextmanager
    async def sharing(self) -> AsyncIterator[None]:
        """Exchange states until the block ends."""
        self._leaving = False
        exchange = asyncio.create_task(self._exchange_until_leaving())
        try:
            yield
        finally:
            # redis-py may lose the cancellation: asyncio.wait_for of Python 3.11 does, when what
            # it waits for is done at the same moment.
            self._leaving = True
            self._noted.set()
            await cancel_and_wait([exchange])

    def _note(self, event: Event) -> None:
        if self._obeying or event.source not in self._breakers:
            return
        if isinstance(event, CircuitOpened) and event.break_s is not None:
            change = _Change(state=_OPEN, until_s=event.at_s + event.break_s)
        elif isinstance(event, CircuitClosed):
            change = _Change(state=_CLOSED, until_s=event.at_s + _CLOSED_IS_KEPT_S)
        else:
            return
        self._notes[event.source] = change
        self._noted.set()

    async def _exchange_until_leaving(self) -> None:
        while not self._is_leaving():
            try:
                async with asyncio.timeout(self._settings.limit_s):
                    await self._write()
                    await self._read()
            except Exception as error:  # noqa: BLE001 - nothing that Redis does may end the block
                self._redis_failed(error)
                if self._is_leaving():
                    break
                await asyncio.sleep(self._settings.pause_s)
            else:
                self._redis_is_away = False
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settings.poll_s):
                        await self._noted.wait()

    def _is_leaving(self) -> bool:
        return self._leaving  # a method, because it changes during an await, unseen by mypy

    async def _write(self) -> None:
        if not self._leaving:
            self._noted.clear()
        now_s = asyncio.get_running_loop().time()
        for name, change in list(self._notes.items()):
            left_ms = int((change.until_s - now_s) * 1000)
            if left_ms > 0:
                word = f"{change.state} {self._me} {uuid4().hex}"
                self._known[name] = word
                await self._redis.set(self._key(name), word, px=left_ms)
            if self._notes.get(name) is change:
                del self._notes[name]

    async def _read(self) -> None:
        names = list(self._breakers)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.get(self._key(name))
                pipeline.pttl(self._key(name))
            replies = await pipeline.execute()
        for name, word, left_ms in zip(names, replies[::2], replies[1::2], strict=True):
            if name not in self._notes:  # what happened here since is news to the others
                self._obey(name, _text(word), left_ms / 1000)

    def _obey(self, name: str, word: str, left_s: float) -> None:
        if not word or self._known.get(name) == word:
            return
        self._known[name] = word
        state, _, by = word.partition(" ")
        breaker = self._breakers[name]
        if breaker.isolated:
            return
        self._obeying = True
        try:
            if state == _OPEN and 0 < left_s <= DAY_S:
                breaker.trip(left_s, OpenedElsewhere(by.partition(" ")[0]))
            elif state == _CLOSED and breaker.state != "closed":
                breaker.reset()
        finally:
            self._obeying = False

    def _redis_failed(self, error: Exception) -> None:
        if not self._redis_is_away:
            self._redis_is_away = True
            _log.warning(
                "circuits are not shared while Redis fails: %r; trying again every %g s",
                error,
                self._settings.pause_s,
            )

    def _key(self, name: str) -> str:
        return self._settings.prefix + name


def _text(word: object) -> str:
    if isinstance(word, bytes):
        return word.decode(errors="replace")
    return word if isinstance(word, str) else ""
