"""Is a service ready? An HTTP service answers 200 on its path, a Redis answers PING."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import httpx
from redis.asyncio import Redis
from redis.exceptions import RedisError

from lab.control import NoAnswerError, ask

ONE_PROBE_S = 1.0


Probe = Callable[[], Awaitable[bool]]  # asks once and raises nothing, unless cancelled


def http_probe(http: httpx.AsyncClient, url: str) -> Probe:
    """Return a probe that is true when GET *url* is answered with 200 within ONE_PROBE_S."""

    async def probe() -> bool:
        try:
            answer = await ask(http, "GET", url, within_s=ONE_PROBE_S)
        except NoAnswerError:
            return False
        return answer.status == HTTPStatus.OK

    return probe


def tcp_probe(host: str, port: int) -> Probe:
    """Return a probe that is true when a port accepts connections."""

    async def probe() -> bool:
        try:
            async with asyncio.timeout(ONE_PROBE_S):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    return probe


def redis_probe(url: str) -> Probe:
    """Return a probe that is true when the server at *url* answers PING, password and all."""

    async def probe() -> bool:
        async with Redis.from_url(url) as redis:
            try:
                async with asyncio.timeout(ONE_PROBE_S):
                    return bool(await redis.ping())
            except (RedisError, OSError, TimeoutError):
                return False

    return probe
