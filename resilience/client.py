"""The client: many sources, each behind its own policies."""

import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Self, Unpack, overload

import httpx

from resilience._internal.calls import Calls
from resilience._internal.checks import expect
from resilience._internal.guarded_source import GuardedSource, guarded_sources
from resilience._internal.wire.connections import (
    DEFAULT_KEEPALIVE_S,
    DEFAULT_MAX_CONNECTION_AGE_S,
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_MAX_HEADER_BYTES,
    DEFAULT_MAX_RESPONSE_BYTES,
    Connections,
)
from resilience._internal.wire.event_loops import OneLoop
from resilience._internal.wire.retry_after import expect_aware, utc_now
from resilience._internal.wire.streaming import DEFAULT_IDLE_TIMEOUT_S
from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.concurrency.adaptive import AdaptiveConcurrency
from resilience.events import Event, Handler, Kind, Subscribers, Unsubscribe
from resilience.pipeline import Pipeline
from resilience.request import RequestOptions
from resilience.source import Policies, Source, distinct
from resilience.statistics import SourceStatistics


class ResilientClient(Calls):
    """Calls sources through their policies: raw (`get`), typed (`get_json`) or streamed.

    Make one and keep it: limits and circuits live in it. Use it as an async context manager.
    Redirects are returned and not followed; there are no cookies, and proxies of the environment
    are ignored.

    It may be used on one event loop after another (one `asyncio.run` after the other): limits,
    circuits and statistics stay, connections end with their loop. Two loops that run at the same
    time, in two threads, need two clients. So does a process that is forked while a loop runs.

    Args:
        sources: Names must differ.
        random: Source of jitter; pass a seeded one to repeat a run. It is seeded anew in processes
            that are forked later, so that they do not all retry at the same moments.
        max_connections: Open connections to each source, 1..65535, and so attempts at once: an
            attempt waits for one as for a slot of a bulkhead, whose number it bounds, before it
            takes a token. 100 is what httpx and aiohttp allow.
        max_response_bytes: Largest body after decoding, in bytes, >= 0; ResponseTooLarge beyond.
            10 MB are more than an API sends, and little enough for 100 at once.
        max_header_bytes: Largest status line and headers of a response together, in bytes,
            1 kB..10 MB; HeadersTooLarge beyond. 164 KiB are the most that httpx accepts.
        keepalive_s: How long an idle connection is kept, in seconds, 0..24 h; 4 is less than
            servers do, of which many close after 5.
        max_connection_age_s: How long a connection is used, in seconds, 0..24 h, so that a host
            which has moved is found again; 120 as .NET advises for long-lived clients.
        wall_clock: Returns the aware time of day, for Retry-After dates.
        ssl_context: For https, to sources and the proxy; None trusts the usual authorities, or
            those of SSL_CERT_FILE and SSL_CERT_DIR.
        proxy: URL of an HTTP proxy for all sources; None for none.
        default_policies: Those of sources that have none of their own; `Policies()` by default.
        transport: Sends requests instead of real connections, e.g. `httpx.MockTransport`; the
            settings of connections and bodies above do not apply then.

    Raises:
        ValueError: Two sources share a name, or a setting is out of range.
        TypeError: A source is not a Source, or a setting is of the wrong kind.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        *,
        random: Random,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        max_header_bytes: int = DEFAULT_MAX_HEADER_BYTES,
        keepalive_s: float = DEFAULT_KEEPALIVE_S,
        max_connection_age_s: float = DEFAULT_MAX_CONNECTION_AGE_S,
        wall_clock: Callable[[], datetime] = utc_now,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
        default_policies: Policies | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        _check_kinds(sources, random, transport, default_policies)
        expect_aware("wall_clock", wall_clock)
        self._is_closed = False
        self._subscribers = Subscribers()
        wire = transport or Connections(
            max_connections=max_connections,
            max_response_bytes=max_response_bytes,
            max_header_bytes=max_header_bytes,
            keepalive_s=keepalive_s,
            max_connection_age_s=max_connection_age_s,
            ssl_context=ssl_context,
            proxy=proxy,
        )
        pipeline_of = partial(
            Pipeline,
            random=random,
            subscribers=self._subscribers,
            wall_clock=wall_clock,
            request_ids=count(1),
        )
        self._sources = guarded_sources(distinct(sources), default_policies, pipeline_of, wire)
        self._loop = OneLoop(self._clock_set_back)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of the sources."""
        return tuple(self._sources)

    @overload
    def subscribe(
        self, handler: Callable[[Kind], object], kinds: Iterable[type[Kind]]
    ) -> Unsubscribe: ...
    @overload
    def subscribe(
        self, handler: Handler, kinds: Iterable[type[Event]] | None = None
    ) -> Unsubscribe: ...
    def subscribe(
        self, handler: Callable[[Any], object], kinds: Iterable[type[Event]] | None = None
    ) -> Unsubscribe:
        """Call `handler` with each event, in the calling task; its exceptions are logged.

        With `kinds`, only with events of exactly these classes: an event without a handler is never
        made, which saves most of what events cost a successful call.

        Returns:
            A function without arguments that ends the subscription.
        """
        return self._subscribers.add(handler, kinds)

    def breaker(self, source: str) -> CircuitBreaker | None:
        """Return the circuit breaker of `source`, None if it has none.

        Raises:
            ValueError: The source is unknown.
        """
        return self._guarded(source).pipeline.breaker

    def adaptive(self, source: str) -> AdaptiveConcurrency | None:
        """Return the adaptive concurrency of `source`, None if it has none."""
        return self._guarded(source).pipeline.adaptive

    def wrap_transports(
        self, wrap: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport]
    ) -> None:
        """Send requests through `wrap(transport)` from now on, for each source's transport.

        For code that has to see or change each request that is sent, retries and hedges included.
        Those share one request: pass a changed copy on. The client closes what `wrap` returns.
        """
        for guarded in self._sources.values():
            guarded.transport = wrap(guarded.transport)

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
        """Return the counts of the calls to `source` so far.

        Raises:
            ValueError: The source is unknown.
        """
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
                The target of a redirect, as an absolute URL, is accepted if scheme, host and port
                are the source's: `str(response.url.join(response.headers["location"]))`.
            options: Query, headers and body, and policies to replace in this call: see
                `RequestOptions`.

        Raises:
            ValueError: The source is unknown, HTTP cannot carry the method, path, query, headers
                or body, or a replaced policy does not fit the others; nothing was sent or counted.
            TypeError: An option is unknown or of the wrong kind, or the body has no JSON form;
                nothing was sent or counted.
            RuntimeError: The client is closed, or in use on another event loop that runs; nothing
                was sent or counted.
            ResponseTooLarge: The body outgrew its limit, or the headers theirs (HeadersTooLarge).
            UndecodableBody: The body is not in the coding that it claims.
            AttemptTimeout, TotalTimeout, CircuitOpen, RateLimited, BulkheadFull,
            httpx.TransportError: See `Pipeline.run`.
        """
        return await self._ready(source).request(method, path, options)

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

        The policies apply until then: retries and timeouts end with the headers, and the breaker
        counts the call by them. The body may take as long as it likes, but no pause in it longer
        than `idle_timeout_s` seconds (10 ms..24 h; None for any), and it may be of any size. A
        transient response (5xx, 408, 429) is read whole at once, as `request` reads it. The slot of
        the bulkhead is held until the block is left, that of a response dropped on the way is not.

        Raises:
            StreamIdle: Reading the body, after such a pause.
            httpx.TransportError: Reading the body, when the network fails; it is not retried.
            ValueError, TypeError and others: See `request`.
        """
        guarded = self._ready(source)
        opening = guarded.stream(method, path, options, idle_timeout_s=idle_timeout_s)
        async with opening as response:
            yield response

    async def aclose(self) -> None:
        """Close all connections; calls are refused from now on.

        Connections that another event loop has end with it.
        """
        self._is_closed = True
        async with AsyncExitStack() as closing:  # closes all, even if some fail
            transports = [guarded.transport for guarded in self._sources.values()]
            for transport in dict.fromkeys(transports):  # a transport passed in is shared by all
                closing.push_async_callback(transport.aclose)

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

    def _ready(self, source: str) -> GuardedSource:
        if self._is_closed:
            raise RuntimeError(
                "the client is closed; make another, or close it after its last call"
            )
        self._loop.enter()
        return self._guarded(source)

    def _clock_set_back(self, by_s: float) -> None:
        for guarded in self._sources.values():
            guarded.pipeline.shift_times(-by_s)

    def _guarded(self, source: str) -> GuardedSource:
        expect("source", source, str, "give its name")
        try:
            return self._sources[source]
        except KeyError:
            known = ", ".join(map(repr, self._sources)) or "none"
            raise ValueError(f"there is no source {source!r}; known: {known}") from None


def _check_kinds(sources: object, random: object, transport: object, policies: object) -> None:
    expect("sources", sources, Iterable, "list them: [Source(...)]")
    expect("random", random, Random, "make it a Random()")
    expect("transport", transport, httpx.AsyncBaseTransport | None, "leave it out for real ones")
    expect("default_policies", policies, Policies | None, "make them Policies(...)")
