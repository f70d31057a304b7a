"""Requests on the wire: httpx's transport interface over aiohttp's connections.

httpx's own transport loses pool slots when a call is cancelled, which every attempt time-out does.
"""

import asyncio
import math
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import ClassVar
from weakref import WeakKeyDictionary

import aiohttp
import httpx
from aiohttp.connector import Connection
from httpx_aiohttp import AiohttpTransport

from resilience.checks.kinds import expect
from resilience.checks.ranges import DAY_S, outside, refuse
from resilience.errors import StaleConnection
from resilience.wire.bounded_response import BoundedResponse
from resilience.wire.name_lookup import OwnThreadsResolver
from resilience.wire.proxy import proxy_at, with_credentials

DEFAULT_MAX_RESPONSE_BYTES = 10_000_000
DEFAULT_KEEPALIVE_S = 4.0  # servers often close idle connections after 5 s: be first
DEFAULT_MAX_CONNECTION_AGE_S = 120.0  # a busy connection never asks DNS again: part with it


class AttemptTransport(AiohttpTransport):
    """Sends a request exactly once: no hidden retry, no redirect, no cookie.

    No time-outs of its own either; whoever calls it limits it. A body read whole (`aread`) that
    outgrows `max_response_bytes` after decoding raises ResponseTooLarge and costs its connection;
    one that is streamed is as long as its reader cares to read.

    Args:
        max_connections: Open connections, all hosts together, 1..65535; more requests wait.
            Whoever limits what is sent must wait before: see `Pipeline`.
        max_response_bytes: Largest decoded body, in bytes.
        keepalive_s: How long an idle connection is kept, in seconds.
        max_connection_age_s: How long after its first request a connection is still used, in
            seconds; a new one looks the host's name up again.
        ssl_context: For https; None trusts the usual authorities, or those of SSL_CERT_FILE and
            SSL_CERT_DIR. It takes some 40 ms to make: share one.
        proxy: URL of an HTTP proxy, with user and password if it asks for them; None for none,
            whatever the environment says.

    Raises:
        ValueError: A value is out of range, or `proxy` no URL of a proxy.
        TypeError: A value is of the wrong kind.
    """

    def __init__(
        self,
        *,
        max_connections: int = 100,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        keepalive_s: float = DEFAULT_KEEPALIVE_S,
        max_connection_age_s: float = DEFAULT_MAX_CONNECTION_AGE_S,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        refuse(
            outside("max_connections", max_connections, 1, 65_535, "100 is usual", whole=True),
            outside("max_response_bytes", max_response_bytes, 0, math.inf, "it is in bytes"),
            outside("keepalive_s", keepalive_s, 0, DAY_S, "it is in seconds"),
            outside("max_connection_age_s", max_connection_age_s, 0, DAY_S, "it is in seconds"),
        )
        if ssl_context is not None:
            expect(
                "ssl_context", ssl_context, ssl.SSLContext, "make it ssl.create_default_context()"
            )
        via = None if proxy is None else proxy_at(proxy)
        # aiohttp sends them to open a tunnel, and else only with the first request of a connection.
        self._proxy_credentials = None if via is None else via.headers.get("Proxy-Authorization")
        super().__init__(
            verify=True if ssl_context is None else ssl_context,
            proxy=via,
            client=self._open_session,
        )
        self._is_closed = False
        self._max_connections = max_connections
        self._max_response_bytes = max_response_bytes
        self._keepalive_s = keepalive_s
        self._max_connection_age_s = max_connection_age_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response once its headers are there; reading the body is up to the caller.

        Raises:
            RuntimeError: The transport is closed, maybe while the call waited for its retry.
            httpx.TransportError: The network failed.
        """
        if self._is_closed:
            raise RuntimeError("the client is closed; close it after its last call has ended")
        if request.url.scheme == "http" and self._proxy_credentials is not None:
            sent = await with_credentials(request, self._proxy_credentials)
        else:
            sent = request
        try:
            response = await super().handle_async_request(sent)
        except (httpx.TransportError, aiohttp.ClientError) as error:
            raise _in_httpx_terms(error, request) from error
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError(f"an async stream was expected, got {response.stream!r}")
        return BoundedResponse(
            response.status_code,
            headers=response.headers,
            stream=_Body(response.stream, request),
            request=request,
            extensions=response.extensions,
            limit_bytes=self._max_response_bytes,
        )

    async def aclose(self) -> None:
        """Close all connections; requests are refused from now on."""
        self._is_closed = True
        await super().aclose()

    def _open_session(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._max_connections,
                keepalive_timeout=self._keepalive_s,
                ssl=self.ssl_context,
                resolver=OwnThreadsResolver(),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_ageing_response(self._max_connection_age_s),
            trust_env=False,
        )
        # aiohttp repeats idempotent requests when a reused connection drops, unseen by the
        # policies; it offers no public switch.
        session._retry_connection = False  # noqa: SLF001
        return session


def context_for(urls: Iterable[str], given: ssl.SSLContext | None) -> ssl.SSLContext:
    """Return the TLS context for connections to all these sources and proxies.

    One that trusts the usual authorities takes some 40 ms and a megabyte to make, which a client
    without TLS need not pay.
    """
    if given is not None:
        return given
    if any(url.lower().startswith("https:") for url in urls):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _StaleConnectionError(aiohttp.ClientConnectionError):
    """A connection that had served before closed without a response."""


class _ReuseAwareResponse(aiohttp.ClientResponse):
    """Knows whether its connection has served before, and parts with it when it is old."""

    max_connection_age_s: ClassVar[float] = math.inf
    _first_used_s: ClassVar[WeakKeyDictionary[object, float]] = WeakKeyDictionary()

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol = connection.protocol
        reused = protocol in self._first_used_s
        if protocol is not None:
            now_s = asyncio.get_running_loop().time()
            age_s = now_s - self._first_used_s.setdefault(protocol, now_s)
            if age_s >= self.max_connection_age_s:
                protocol.force_close()  # once this response has been read
        try:
            response = await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if reused:
                raise _StaleConnectionError(str(error)) from error
            raise
        if self.reason is not None:
            self.reason = self.reason.encode(
                "ascii", "replace"
            ).decode()  # httpx-aiohttp has no other
        return response


def _ageing_response(max_connection_age_s: float) -> type[_ReuseAwareResponse]:
    """Return the class with this age; aiohttp takes a class and tells it no settings."""

    class AgeingResponse(_ReuseAwareResponse):
        pass

    AgeingResponse.max_connection_age_s = max_connection_age_s
    return AgeingResponse


class _Body(httpx.AsyncByteStream):
    """A response's raw body, its errors in httpx's terms."""

    def __init__(self, raw: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._raw = raw
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._raw:
                yield chunk
        except (httpx.TransportError, aiohttp.ClientError) as error:
            raise _in_httpx_terms(error, self._request) from error

    async def aclose(self) -> None:
        await self._raw.aclose()


_HTTPX_ERRORS: tuple[tuple[type[aiohttp.ClientError], type[httpx.TransportError]], ...] = (
    (_StaleConnectionError, StaleConnection),
    (aiohttp.ClientProxyConnectionError, httpx.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.ServerDisconnectedError, httpx.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError),
    (aiohttp.ClientConnectionError, httpx.ReadError),
)
"""The first row that fits wins; httpx-aiohttp reports most of these as a ConnectTimeout."""


def _in_httpx_terms(
    error: httpx.TransportError | aiohttp.ClientError, request: httpx.Request
) -> httpx.TransportError:
    cause = error.__cause__ if isinstance(error, httpx.TransportError) else error
    message = str(cause or error) or type(cause or error).__name__
    for theirs, ours in _HTTPX_ERRORS:
        if isinstance(cause, theirs):
            return ours(message, request=request)
    if isinstance(error, httpx.TransportError):
        return error
    return httpx.TransportError(message, request=request)
