"""The way in: one client, many sources, each behind its own policies."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from random import Random
from types import TracebackType
from typing import Self, Unpack

import httpx

from resilience.circuit_breaker import CircuitBreaker
from resilience.events import Event
from resilience.json_calls import JsonCalls
from resilience.kinds import expect, expect_function
from resilience.pipeline import Pipeline
from resilience.request import RequestOptions, address_of, build_request, overrides_of
from resilience.retry_after import utc_now
from resilience.source import Overrides, Source
from resilience.statistics import SourceStatistics
from resilience.streaming import DEFAULT_IDLE_TIMEOUT_S, Run, streamed
from resilience.subscribers import Handler, Subscribers
from resilience.transport import (
    DEFAULT_KEEPALIVE_S,
    DEFAULT_MAX_CONNECTION_AGE_S,
    DEFAULT_MAX_RESPONSE_BYTES,
    AttemptTransport,
)
from resilience.whole_body import read_whole


@dataclass(frozen=True, slots=True)
class _Guarded:
    base_url: str
    headers: httpx.Headers
    pipeline: Pipeline
    transport: httpx.AsyncBaseTransport


class ResilientClient(JsonCalls):
    """Calls sources through their policies: raw (`get`), typed (`get_json`) or streamed.

    Make one and keep it: limits and circuits live in it. Use it as an async context manager, from
    one event loop. Redirects are answers, not instructions; there are no cookies, and proxies of
    the environment are ignored.

    Args:
        sources: Names must differ.
        random: Source of jitter; pass a seeded one to repeat a run.
        max_connections: Open connections to each source, 1..65535; waiting for one counts against
            the time-outs.
        max_response_bytes: Largest body after decoding, in bytes, >= 0; ResponseTooLarge beyond.
        keepalive_s: How long an idle connection is kept, in seconds; less than the servers do.
        max_connection_age_s: How long a connection is used, in seconds, so that a host which has
            moved is found again.
        wall_clock: Returns the aware time of day, for Retry-After dates.
        transport: Sends requests instead of real connections, e.g. `httpx.MockTransport`; the
            settings of connections and bodies above are then its own affair.

    Raises:
        ValueError: Two sources share a name, or a setting is out of range.
        TypeError: A source is no Source, or a setting of the wrong kind.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        *,
        random: Random,
        max_connections: int = 100,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        keepalive_s: float = DEFAULT_KEEPALIVE_S,
        max_connection_age_s: float = DEFAULT_MAX_CONNECTION_AGE_S,
        wall_clock: Callable[[], datetime] = utc_now,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        expect("sources", sources, Iterable, "list them: [Source(...)]")
        expect("random", random, Random, "make it a Random()")
        expect_function("wall_clock", wall_clock, "it returns an aware datetime")
        if transport is not None:
            expect("transport", transport, httpx.AsyncBaseTransport, "leave it out for real ones")
        self._is_closed = False
        self._subscribers = Subscribers()
        request_ids = count(1)
        self._sources: dict[str, _Guarded] = {}
        for source in sources:
            expect("a source", source, Source, "make it a Source")
            if source.name in self._sources:
                raise ValueError(f"two sources are named {source.name!r}; names must differ")
            self._sources[source.name] = _Guarded(
                *address_of(source),
                Pipeline(
                    source.policies,
                    source=source.name,
                    random=random,
                    subscribers=self._subscribers,
                    wall_clock=wall_clock,
                    request_ids=request_ids,
                ),
                # Connections of its own: a source that hangs must not use up another's.
                transport
                or AttemptTransport(
                    max_connections=max_connections,
                    max_response_bytes=max_response_bytes,
                    keepalive_s=keepalive_s,
                    max_connection_age_s=max_connection_age_s,
                ),
            )

    def subscribe(self, handler: Handler, kinds: Iterable[type[Event]] | None = None) -> None:
        """Call `handler` with each event, in the calling task; its exceptions are logged.

        With `kinds`, only with events of exactly these classes: what nobody hears is never made,
        which is most of what being heard costs a call that does well.
        """
        self._subscribers.add(handler, kinds)

    def breaker(self, source: str) -> CircuitBreaker | None:
        """Return the circuit breaker of `source`, None if it has none."""
        return self._guarded(source).pipeline.breaker

    def isolate(self, source: str) -> None:
        """Reject every call to `source` until `reset`.

        Raises:
            ValueError: The source is unknown or has no breaker.
        """
        self._breaker(source).isolate()

    def reset(self, source: str) -> None:
        """Close the circuit of `source` and forget its failures.

        Raises:
            ValueError: The source is unknown or has no breaker.
        """
        self._breaker(source).reset()

    def statistics(self, source: str) -> SourceStatistics:
        """Return what became of the calls to `source` so far."""
        return self._guarded(source).pipeline.statistics()

    async def request(
        self, method: str, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """Return the response with its body read, whatever its status.

        Args:
            method: HTTP method, any case.
            source: Name of a source.
            path: Begins with "/", or is empty; appended to the source's base URL. It may have a
                query, but neither a fragment nor "..", which would lead out of the base URL.
            options: Query, headers and body, and policies to replace in this call: see
                `RequestOptions`.

        Raises:
            ValueError: The source is unknown, HTTP cannot carry the method, path, query, headers
                or body, or a replaced policy does not fit the others; nothing was sent or counted.
            TypeError: An option is unknown or of the wrong kind, or JSON cannot say the body;
                nothing was sent or counted.
            RuntimeError: The client is closed; nothing was sent or counted.
            ResponseTooLarge: The body outgrew the limit.
            httpx.DecodingError: The body is not in the encoding that it claims.
            AttemptTimeout, TotalTimeout, CircuitOpen, RateLimited, BulkheadFull,
            httpx.TransportError: See `Pipeline.run`.
        """
        guarded = self._ready(source)
        request = build_request(method, guarded.base_url, path, guarded.headers, options)
        run = _runner(guarded.pipeline, request, overrides_of(options))
        return await run(partial(_read, guarded.transport, request))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        source: str,
        path: str,
        *,
        idle_timeout_s: float | None = DEFAULT_IDLE_TIMEOUT_S,
        **options: Unpack[RequestOptions],
    ) -> AsyncIterator[httpx.Response]:
        """Yield the response once its headers are there; leaving the block closes it.

        The policies see the call until then: retries and time-outs end with the headers, and the
        breaker judges by them. The body may take as long as it likes, but no pause in it longer
        than `idle_timeout_s` seconds (10 ms..24 h; None for any), and it may be of any size. A
        transient response (5xx, 408, 429) is read whole at once, as `request` reads it. The slot
        of the bulkhead is held until the block is left, that of a response dropped on the way is
        not.

        Raises:
            StreamIdle: Reading the body, after such a pause.
            httpx.TransportError: Reading the body, when the network fails; it is not retried.
            ValueError, TypeError and others: See `request`.
        """
        guarded = self._ready(source)
        request = build_request(method, guarded.base_url, path, guarded.headers, options)
        run = _runner(guarded.pipeline, request, overrides_of(options))
        opening = streamed(
            run, partial(_open, guarded.transport, request), idle_timeout_s=idle_timeout_s
        )
        async with opening as response:
            yield response

    async def aclose(self) -> None:
        """Close all connections; calls are refused from now on."""
        self._is_closed = True
        async with AsyncExitStack() as closing:  # closes all, whichever of them fail
            for guarded in self._sources.values():
                closing.push_async_callback(guarded.transport.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _breaker(self, source: str) -> CircuitBreaker:
        breaker = self.breaker(source)
        if breaker is None:
            raise ValueError(f"{source!r} has no circuit breaker; give its policies one")
        return breaker

    def _ready(self, source: str) -> _Guarded:
        if self._is_closed:
            raise RuntimeError(
                "the client is closed; make another, or close it after its last call"
            )
        return self._guarded(source)

    def _guarded(self, source: str) -> _Guarded:
        expect("source", source, str, "give its name")
        try:
            return self._sources[source]
        except KeyError:
            known = ", ".join(map(repr, self._sources)) or "none"
            raise ValueError(f"there is no source {source!r}; known: {known}") from None


async def _open(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
    response = await transport.handle_async_request(request)
    response.request = request
    return response


async def _read(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
    return await read_whole(await _open(transport, request))


def _runner(pipeline: Pipeline, request: httpx.Request, overrides: Overrides) -> Run:
    return partial(
        pipeline.run,
        method=request.method,
        idempotency_key="idempotency-key" in request.headers,
        overrides=overrides,
        request=request,
    )
