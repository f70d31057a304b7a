"""The way in: one client, many sources, each behind its own policies."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Self

import httpx

from resilience.circuit_breaker import CircuitBreaker
from resilience.pipeline import Pipeline
from resilience.retry_after import utc_now
from resilience.source import Source
from resilience.statistics import SourceStatistics
from resilience.subscribers import Handler, Subscribers
from resilience.transport import (
    DEFAULT_KEEPALIVE_S,
    DEFAULT_MAX_RESPONSE_BYTES,
    AttemptTransport,
)

# What httpx decodes without an extra package; aiohttp would offer what only it can decode.
_DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate"}


@dataclass(frozen=True, slots=True)
class _Guarded:
    base_url: str
    headers: httpx.Headers
    pipeline: Pipeline


class ResilientClient:
    """Calls sources through their policies.

    Use it as an async context manager, from one event loop. Redirects are answers, not
    instructions; there are no cookies, and proxies of the environment are ignored.

    Args:
        sources: Names must differ.
        random: Source of jitter; pass a seeded one to repeat a run.
        max_connections: Open connections, all sources together, 1..65535; waiting for one counts
            against the time-outs.
        max_response_bytes: Largest body after decoding, in bytes, >= 0; ResponseTooLarge beyond.
        keepalive_s: How long an idle connection is kept, in seconds; less than the servers do.
        wall_clock: Returns the aware time of day, for Retry-After dates.
        transport: Sends requests instead of real connections, e.g. `httpx.MockTransport`; the
            three settings of connections and bodies above are then its own affair.

    Raises:
        ValueError: Two sources share a name, or a setting is out of range.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        *,
        random: Random,
        max_connections: int = 100,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        keepalive_s: float = DEFAULT_KEEPALIVE_S,
        wall_clock: Callable[[], datetime] = utc_now,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._subscribers = Subscribers()
        request_ids = count(1)
        self._sources: dict[str, _Guarded] = {}
        for source in sources:
            if source.name in self._sources:
                raise ValueError(f"two sources are named {source.name!r}; names must differ")
            self._sources[source.name] = _Guarded(
                source.base_url.rstrip("/"),
                httpx.Headers({**_DEFAULT_HEADERS, **source.headers}),
                Pipeline(
                    source.policies,
                    source=source.name,
                    random=random,
                    subscribers=self._subscribers,
                    wall_clock=wall_clock,
                    request_ids=request_ids,
                ),
            )
        self._transport = transport or AttemptTransport(
            max_connections=max_connections,
            max_response_bytes=max_response_bytes,
            keepalive_s=keepalive_s,
        )

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` with each event, in the calling task; its exceptions are logged."""
        self._subscribers.add(handler)

    def breaker(self, source: str) -> CircuitBreaker | None:
        """Return the circuit breaker of `source`, None if it has none."""
        return self._guarded(source).pipeline.breaker

    def isolate(self, source: str) -> None:
        """Hold the circuit of `source` open until `reset`.

        Raises:
            ValueError: The source is unknown or has no breaker.
        """
        self._breaker_to_set(source).isolate()

    def reset(self, source: str) -> None:
        """Close the circuit of `source` and forget what was counted.

        Raises:
            ValueError: The source is unknown or has no breaker.
        """
        self._breaker_to_set(source).reset()

    def statistics(self, source: str) -> SourceStatistics:
        """Return what became of the calls to `source` so far."""
        return self._guarded(source).pipeline.statistics()

    async def get(
        self,
        source: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """GET `path` of `source`; see `request`."""
        return await self.request("GET", source, path, params=params, headers=headers)

    async def request(
        self,
        method: str,
        source: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | str | None = None,
        json: Any = None,  # noqa: ANN401 - whatever the json module takes
    ) -> httpx.Response:
        """Return the response with its body read, whatever its status.

        Args:
            method: HTTP method, any case.
            source: Name of a source.
            path: Begins with "/", or is empty; appended to the source's base URL.
            params: Of the query.
            headers: Beside, or instead of, the source's own.
            content: Body; bytes or text only, because each attempt sends it again.
            json: Body as a value; instead of `content`.

        Raises:
            ValueError: The source is unknown, or the path does not begin with "/".
            ResponseTooLarge: The body outgrew the limit.
            httpx.DecodingError: The body is not in the encoding that it claims.
            AttemptTimeout, TotalTimeout, CircuitOpen, httpx.TransportError: See `Pipeline.run`.
        """
        guarded = self._guarded(source)
        if path and not path.startswith("/"):
            raise ValueError(f'path must begin with "/", got {path!r}; write {"/" + path!r}')
        request = httpx.Request(
            method,
            _parsed(guarded.base_url + path),
            params=params,
            headers=_merged(guarded.headers, headers) if headers else guarded.headers,
            content=content,
            json=json,
        )

        async def send() -> httpx.Response:
            return await self._send(request)

        return await guarded.pipeline.run(
            send,
            method=request.method,
            idempotency_key="idempotency-key" in request.headers,
            request=request,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _guarded(self, source: str) -> _Guarded:
        try:
            return self._sources[source]
        except KeyError:
            known = ", ".join(map(repr, self._sources)) or "none"
            raise ValueError(f"there is no source {source!r}; known: {known}") from None

    def _breaker_to_set(self, source: str) -> CircuitBreaker:
        breaker = self.breaker(source)
        if breaker is None:
            raise ValueError(f"{source!r} has no circuit breaker; give its policies one")
        return breaker

    async def _send(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response


@lru_cache(maxsize=256)  # parsing costs more than all policies, and paths repeat
def _parsed(url: str) -> httpx.URL:
    return httpx.URL(url)


def _merged(own: httpx.Headers, extra: Mapping[str, str]) -> httpx.Headers:
    headers = httpx.Headers(own)
    headers.update(extra)
    return headers
