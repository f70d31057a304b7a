"""One source of a client: where it is, the policies around its calls, and its connections."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import httpx

from resilience._internal.checks import DAY_S, MAX_COUNT
from resilience._internal.wire.body import read_whole
from resilience._internal.wire.connections import Connections
from resilience._internal.wire.streaming import Run, streamed
from resilience._internal.wire.transport import AttemptTransport
from resilience.concurrency.bulkhead import BulkheadSettings
from resilience.pipeline import Pipeline
from resilience.request import RequestOptions, address_of, build_request, overrides_of
from resilience.source import Policies, Source


class GuardedSource:
    """Builds requests to `source` and sends them through `pipeline` over `transport`.

    Attributes:
        pipeline: The policies at work.
        transport: The connections.
    """

    def __init__(
        self, source: Source, pipeline: Pipeline, transport: httpx.AsyncBaseTransport
    ) -> None:
        self.pipeline = pipeline
        self.transport = transport
        self._base_url, self._headers = address_of(source)

    async def request(self, method: str, path: str, options: RequestOptions) -> httpx.Response:
        """Return the response with its body read; see `ResilientClient.request`."""
        request = build_request(method, self._base_url, path, self._headers, options)
        return await self._runner(request, options)(partial(self._read, request))

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, options: RequestOptions, *, idle_timeout_s: float | None
    ) -> AsyncIterator[httpx.Response]:
        """Yield the response with its body unread; see `ResilientClient.stream`."""
        request = build_request(method, self._base_url, path, self._headers, options)
        run = self._runner(request, options)
        opening = streamed(run, partial(self._open, request), idle_timeout_s=idle_timeout_s)
        async with opening as response:
            yield response

    def _runner(self, request: httpx.Request, options: RequestOptions) -> Run:
        return partial(
            self.pipeline.run,
            method=request.method,
            idempotency_key=bool(request.headers.get("idempotency-key", "").strip()),
            overrides=overrides_of(options),
            request=request,
        )

    async def _open(self, request: httpx.Request) -> httpx.Response:
        started_ns = time.perf_counter_ns()
        response = await self.transport.handle_async_request(request)
        response.request = request
        response.elapsed = _since(started_ns)
        return response

    async def _read(self, request: httpx.Request) -> httpx.Response:
        started_ns = time.perf_counter_ns()
        response = await read_whole(await self._open(request))
        response.elapsed = _since(started_ns)
        return response


def guarded_sources(
    sources: tuple[Source, ...],
    default: Policies | None,
    pipeline_of: Callable[..., Pipeline],
    wire: Connections | httpx.AsyncBaseTransport,
) -> dict[str, GuardedSource]:
    """Return the sources by name, each behind its own policies, the default ones or none."""
    if isinstance(wire, Connections):
        wire = wire.sharing_context([source.base_url for source in sources])
    guarded = {}
    for source in sources:
        policies, transport = source.policies or default or Policies(), wire
        if isinstance(transport, Connections):
            policies = within_connections(policies, transport.max_connections)
            # Connections per source: one that hangs must not use up another's.
            transport = AttemptTransport(transport)
        pipeline = pipeline_of(policies, source=source.name)
        guarded[source.name] = GuardedSource(source, pipeline, transport)
    return guarded


def _since(started_ns: int) -> timedelta:
    return timedelta(microseconds=(time.perf_counter_ns() - started_ns) / 1000)


def within_connections(policies: Policies, max_connections: int) -> Policies:
    """Return the policies with no more slots than there are connections, 1 or more.

    An attempt that waited for a connection after its token and its permit would be sent later than
    those allow, and its timeout would count the wait against the source. So it waits before, for a
    slot: that of the bulkhead, or of one without limits on the wait and the queue where the
    policies have none.
    """
    if policies.adaptive is not None:
        limits = policies.adaptive
        bounded = replace(
            limits,
            initial_limit=min(limits.initial_limit, max_connections),
            min_limit=min(limits.min_limit, max_connections),
            max_limit=min(limits.max_limit, max_connections),
        )
        return replace(policies, adaptive=bounded)
    if policies.bulkhead is not None:
        max_concurrent = min(policies.bulkhead.max_concurrent, max_connections)
        return replace(policies, bulkhead=replace(policies.bulkhead, max_concurrent=max_concurrent))
    slots = BulkheadSettings(max_concurrent=max_connections, max_queue=MAX_COUNT, max_wait_s=DAY_S)
    return replace(policies, bulkhead=slots)
