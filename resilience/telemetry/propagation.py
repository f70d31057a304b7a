"""The trace's context on the wire."""

import httpx
from opentelemetry import propagate

from resilience.wire.request_copy import with_headers


class PropagatingTransport(httpx.AsyncBaseTransport):
    """Adds the headers of the current context (W3C `traceparent`) to each request that is sent.

    Which headers these are is OpenTelemetry's setting (`OTEL_PROPAGATORS`, `set_global_textmap`).
    They replace headers of these names that the request has.

    The attempts of a call share its request, hedges at the same time; each sends a copy.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response to the request with these headers."""
        headers = httpx.Headers(request.headers)
        propagate.inject(headers)
        return await self._inner.handle_async_request(await with_headers(request, headers))

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()
