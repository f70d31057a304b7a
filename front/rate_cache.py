"""The last good rate of each currency, kept in Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from front.rate import BadRateError, Rate, read_rate, write_rate

WRITE_EVERY_S = 0.02
PAUSE_S = 1.0
_MAX_CONNECTIONS = 8  # opening more at once takes longer than it saves


class NothingKeptError(LookupError):
    """There is no last good rate to fall back to; the message says why."""


class RateCache:
    """Keeps good rates and recalls the last one of a currency; Redis may fail at any time.

    A fresh answer must not wait for Redis: `keep` only notes the rate, and a writer sends the
    notes to Redis, the latest of each currency, every `WRITE_EVERY_S`; after a failure it pauses
    for `PAUSE_S`. A crash loses what was noted since. A recall first writes the notes, so that it
    never misses a rate kept before it; leaving `writing` writes them too. No use of Redis lasts
    longer than *timeout_s*, > 0.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._silence = f"Redis was silent for {timeout_s:g} s"
        # No timeouts of the client's own: the one limit around each use is enough.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=None,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=None,
        )
        self._redis = Redis.from_pool(pool)
        self._noted: dict[str, Rate] = {}
        self._has_notes = asyncio.Event()
        self._one_writer = asyncio.Lock()

    def keep(self, rate: Rate) -> None:
        """Note *rate* as the last good one of its currency."""
        self._noted[rate.code] = rate
        self._has_notes.set()

    async def recall(self, code: str) -> Rate:
        """Return the last good rate of *code*.

        Raises:
            NothingKeptError: Redis fails or is silent, or holds no rate or no readable one.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._noted or self._one_writer.locked():
                    # A Redis that refuses writes may still hold an older rate.
                    with suppress(RedisError, ConnectionError):
                        await self._write_noted()
                kept = await self._redis.get(_key(code))
        except TimeoutError as error:
            raise NothingKeptError(self._silence) from error
        except (RedisError, OSError) as error:
            raise NothingKeptError(f"Redis failed: {error}") from error
        if kept is None:
            raise NothingKeptError(f"Redis holds no rate of {code}")
        return _read(kept, code)

    async def check(self) -> None:
        """Raise unless Redis responds."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._redis.ping()
        except TimeoutError as error:
            raise TimeoutError(self._silence) from error

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Run the writer until the block ends; then write what is left and disconnect."""
        try:
            async with asyncio.TaskGroup() as group:
                writer = group.create_task(self._write_forever())
                yield
                writer.cancel()
            with suppress(RedisError, OSError):
                await self._write_noted_in_time()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timeout_s):
                    await self._redis.aclose()

    async def _write_forever(self) -> None:
        while True:
            await self._has_notes.wait()
            try:
                await self._write_noted_in_time()
            except (RedisError, OSError):
                await self._close_idle()
                await asyncio.sleep(PAUSE_S)
            else:
                await asyncio.sleep(WRITE_EVERY_S)

    async def _close_idle(self) -> None:
        """Close idle connections, so that Redis' name is resolved again.

        After a failover the old server may be a replica, which refuses writes.
        """
        with suppress(RedisError, OSError):
            async with asyncio.timeout(self._timeout_s):
                await self._redis.connection_pool.disconnect(inuse_connections=False)

    async def _write_noted_in_time(self) -> None:
        async with asyncio.timeout(self._timeout_s):
            await self._write_noted()

    async def _write_noted(self) -> None:
        async with self._one_writer:
            batch, self._noted = self._noted, {}
            self._has_notes.clear()
            if not batch:
                return
            try:
                await self._redis.mset(
                    {_key(code): write_rate(rate) for code, rate in batch.items()}
                )
            except BaseException:
                self._noted = batch | self._noted
                self._has_notes.set()
                raise


def _key(code: str) -> str:
    return f"rate:{code}"


def _read(kept: bytes | str, code: str) -> Rate:
    try:
        return read_rate(kept, code, datetime.now(UTC))
    except BadRateError as error:
        raise NothingKeptError(f"Redis holds no readable rate of {code}: {error}") from error
