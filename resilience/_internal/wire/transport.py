"""Requests on the wire: httpx's transport interface over aiohttp's connections.

httpx's own transport loses pool slots when a call is cancelled, which every attempt timeout does.
"""

import asyncio
import math
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable
from functools import partial
from inspect import signature
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import aiohttp
import httpx
from aiohttp import ClientPayloadError, StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from httpx_aiohttp import AiohttpTransport

from resilience._internal.wire.body import BoundedResponse
from resilience._internal.wire.connections import (
    Connections,
    OwnThreadResolver,
    proxy_at,
    with_credentials,
)
from resilience._internal.wire.event_loops import LoopSessions
from resilience.errors import HeadersTooLarge, StaleConnection

_WireError = httpx.TransportError | aiohttp.ClientError
_NO_LIMIT = 2**31 - 1
# Of aiohttp's own limits, on each line and on their number, those that this version has.
_LIMITS_OF_ITS_OWN = {
    name: _NO_LIMIT
    for name in ("max_line_size", "max_field_size", "max_headers")
    if name in signature(ResponseHandler.set_response_params).parameters
}
_STATUS_LINE_BYTES = len("HTTP/1.1 200 \r\n")
_FIELD_BYTES = len(": \r\n")


class AttemptTransport(AiohttpTransport):
    """Sends a request exactly once: no hidden retry, no redirect, no cookie.

    It works on any event loop, each with connections of its own, one loop at a time. It has no
    timeouts of its own; the caller limits it. A body read whole (`aread`) that
    outgrows `max_response_bytes` after decoding raises ResponseTooLarge and costs its connection;
    one that is streamed is as long as its reader cares to read. So do headers that outgrow
    `max_header_bytes`, as HeadersTooLarge.

    Args:
        connections: Their settings; the defaults if None.
    """

    def __init__(self, connections: Connections | None = None) -> None:
        self._settings = settings = connections or Connections()
        via = None if settings.proxy is None else proxy_at(settings.proxy)
        # aiohttp sends them to open a tunnel, and otherwise only with a connection's first request.
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
            RuntimeError: The transport is closed, possibly while the call waited for its retry.
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
        # aiohttp repeats idempotent requests when a reused connection drops, without the policies'
        # knowledge; it offers no public switch.
        session._retry_connection = False  # noqa: SLF001
        return session


class _StaleConnectionError(aiohttp.ClientConnectionError):
    """A connection that was used before has closed without a response."""


class _ReuseAwareResponse(aiohttp.ClientResponse):
    """Knows whether its connection has been used before, and closes it when it is old."""

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
    """Return the class with this age; aiohttp takes a class and passes it no settings."""

    class AgeingResponse(_ReuseAwareResponse):
        pass

    AgeingResponse.max_connection_age_s = max_connection_age_s
    return AgeingResponse


class _Body(httpx.AsyncByteStream):
    """A response's raw body, with its errors as httpx's and ours."""

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
    # Its own text quotes the URL, whose query may hold a secret, and a status that was not sent.
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return text or type(error).__name__


class HeadTooLargeError(HttpProcessingError):
    """A source has sent too much before, or after, the body of its response."""


class BoundedHead(ResponseHandler):
    """A connection that closes when a response's head, or its trailers, are too large.

    httpx bounds the head as a whole, aiohttp each line and their number; this follows httpx.
    Trailers and chunk extensions have the same limit.

    Args:
        loop: The running event loop.
        max_bytes: Of the status line and headers together.
    """

    def __init__(self, loop: AbstractEventLoop, *, max_bytes: int) -> None:
        super().__init__(loop)
        self._max_bytes = max_bytes
        self._body_bytes = 0
        self._beside_body_bytes = 0  # received since the last part of a body

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401 - aiohttp's, passed on
        """Expect a response."""
        self._beside_body_bytes = 0
        super().set_response_params(**params | _LIMITS_OF_ITS_OWN)

    def data_received(self, data: bytes) -> None:
        """Take received bytes; close when too many came without a head or a part of a body."""
        self._beside_body_bytes += len(data)
        super().data_received(data)
        body = self._payload
        if body is not None and body.total_bytes != self._body_bytes:
            self._body_bytes = body.total_bytes
            self._beside_body_bytes = 0
        elif self._beside_body_bytes > self._max_bytes and not self._reading_paused:
            self._refuse()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Pass a complete head, its body still to be read, on to the waiting request."""
        message, _ = data
        if self._beside_body_bytes > self._max_bytes and _size_of(message) > self._max_bytes:
            self._refuse()
            return
        self._body_bytes = self._beside_body_bytes = 0
        super().feed_data(data, size)

    def _refuse(self) -> None:
        error = HeadTooLargeError()
        if self.transport is not None:
            self.transport.close()
        if self._payload is not None and not self._payload.is_eof():
            unfinished = ClientPayloadError("trailers are too large")
            unfinished.__cause__ = error
            self._payload.set_exception(unfinished)
        self.set_exception(error)


def _size_of(message: RawResponseMessage) -> int:
    fields = sum(len(name) + len(value) + _FIELD_BYTES for name, value in message.raw_headers)
    return _STATUS_LINE_BYTES + len(message.reason) + fields + len("\r\n")
