"""Requests on the wire: httpx's transport interface over aiohttp's connections.

httpx's own transport loses pool slots when a call is cancelled, which every attempt time-out does.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

import aiohttp
import httpx
from aiohttp.connector import Connection
from httpx_aiohttp import AiohttpTransport

from resilience.errors import HeadersTooLarge, StaleConnection
from resilience.wire.bounded_response import BoundedResponse
from resilience.wire.connections import Connections
from resilience.wire.loop_sessions import LoopSessions
from resilience.wire.name_lookup import OwnThreadResolver
from resilience.wire.proxy import proxy_at, with_credentials
from resilience.wire.response_head import BoundedHead, HeadTooLargeError

_WireError = httpx.TransportError | aiohttp.ClientError


class AttemptTransport(AiohttpTransport):
    """Sends a request exactly once: no hidden retry, no redirect, no cookie.

    It works on any event loop, each with connections of its own, one loop at a time. No time-outs
    of its own either; whoever calls it limits it. A body read whole (`aread`) that
    outgrows `max_response_bytes` after decoding raises ResponseTooLarge and costs its connection;
    one that is streamed is as long as its reader cares to read. So do headers that outgrow
    `max_header_bytes`, as HeadersTooLarge.

    Args:
        connections: Their settings; the defaults if None.
    """

    def __init__(self, connections: Connections | None = None) -> None:
        self._settings = settings = connections or Connections()
        via = None if settings.proxy is None else proxy_at(settings.proxy)
        # aiohttp sends them to open a tunnel, and else only with the first request of a connection.
        self._proxy_credentials = None if via is None else via.headers.get("Proxy-Authorization")
        super().__init__(
            verify=True if settings.ssl_context is None else settings.ssl_context,
            proxy=via,
        )
        self._sessions = LoopSessions(self._open_session)
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response once its headers are there; reading the body is up to the caller.

        Raises:
            RuntimeError: The transport is closed, maybe while the call waited for its retry.
            HeadersTooLarge: The head of the response outgrew its limit.
            httpx.TransportError: The network failed.
        """
        if self._is_closed:
            raise RuntimeError("the client is closed; close it after its last call has ended")
        sent = request
        if request.url.scheme == "http" and self._proxy_credentials is not None:
            sent = await with_credentials(request, self._proxy_credentials)
        try:
            self.client = await self._sessions.of_running_loop()
            response = await super().handle_async_request(sent)
        except (httpx.TransportError, aiohttp.ClientError) as error:
            raise self._in_our_terms(error, request) from error
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError(f"an async stream was expected, got {response.stream!r}")
        return BoundedResponse(
            response.status_code,
            headers=response.headers,
            stream=_Body(response.stream, partial(self._in_our_terms, request=request)),
            request=request,
            extensions=response.extensions,
            limit_bytes=self._settings.max_response_bytes,
        )

    async def aclose(self) -> None:
        """Close the connections of the running loop; requests are refused from now on.

        Connections that another loop has end with it.
        """
        self._is_closed = True
        await self._sessions.aclose()

    def _in_our_terms(self, error: _WireError, request: httpx.Request) -> Exception:
        cause = error if isinstance(error, aiohttp.ClientError) else error.__cause__
        if cause is not None and isinstance(cause.__cause__, HeadTooLargeError):
            return HeadersTooLarge(self._settings.max_header_bytes)
        return _in_httpx_terms(error, request)

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._settings.max_connections,
            keepalive_timeout=self._settings.keepalive_s,
            ssl=self.ssl_context,
            resolver=OwnThreadResolver(),
        )
        # aiohttp offers no public way to a protocol of one's own.
        loop, max_bytes = asyncio.get_running_loop(), self._settings.max_header_bytes
        of_our_kind = partial(BoundedHead, loop, max_bytes=max_bytes)
        connector._factory = of_our_kind  # type: ignore[assignment] # noqa: SLF001
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_ageing_response(self._settings.max_connection_age_s),
            trust_env=False,
        )
        # aiohttp repeats idempotent requests when a reused connection drops, unseen by the
        # policies; it offers no public switch.
        session._retry_connection = False  # noqa: SLF001
        return session


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
    """A response's raw body, its errors in our terms."""

    def __init__(
        self, raw: httpx.AsyncByteStream, in_our_terms: Callable[[_WireError], Exception]
    ) -> None:
        self._raw = raw
        self._in_our_terms = in_our_terms

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._raw:
                yield chunk
        except (httpx.TransportError, aiohttp.ClientError) as error:
            raise self._in_our_terms(error) from error

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


def _in_httpx_terms(error: _WireError, request: httpx.Request) -> httpx.TransportError:
    cause = error.__cause__ if isinstance(error, httpx.TransportError) else error
    message = _text_of(cause or error)
    for theirs, ours in _HTTPX_ERRORS:
        if isinstance(cause, theirs):
            return ours(message, request=request)
    if isinstance(error, httpx.TransportError):
        return error
    return httpx.TransportError(message, request=request)


def _text_of(error: BaseException) -> str:
    # Its own text quotes the URL, whose query may hold a secret, and a status that nobody sent.
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return text or type(error).__name__
