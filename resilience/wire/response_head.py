"""A bound on what a source sends beside a body: the head of its response, and trailers."""

from asyncio import AbstractEventLoop
from inspect import signature
from typing import Any

from aiohttp import ClientPayloadError, StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage

_NO_LIMIT = 2**31 - 1
# Of aiohttp's own limits, which are on each line and on their number, those that this version has.
_LIMITS_OF_ITS_OWN = {
    name: _NO_LIMIT
    for name in ("max_line_size", "max_field_size", "max_headers")
    if name in signature(ResponseHandler.set_response_params).parameters
}
_STATUS_LINE_BYTES = len("HTTP/1.1 200 \r\n")
_FIELD_BYTES = len(": \r\n")


class HeadTooLargeError(HttpProcessingError):
    """A source has sent more than it may before, or after, the body of its response."""


class BoundedHead(ResponseHandler):
    """A connection that closes when a response's head, or what follows its body, is too large.

    httpx bounds the head as a whole, aiohttp each line of it and their number; this is httpx's way.
    Trailers, and what chunks may say beside their sizes, have the same limit.

    Args:
        loop: The running event loop.
        max_bytes: Of the status line and headers together.
    """

    def __init__(self, loop: AbstractEventLoop, *, max_bytes: int) -> None:
        super().__init__(loop)
        self._max_bytes = max_bytes
        self._body_bytes = 0
        self._beside_body_bytes = 0  # that came since the last part of a body did

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401 - aiohttp's, passed on
        """Expect a response."""
        self._beside_body_bytes = 0
        super().set_response_params(**params | _LIMITS_OF_ITS_OWN)

    def data_received(self, data: bytes) -> None:
        """Take what came; close when it is too much without a head or a part of a body."""
        self._beside_body_bytes += len(data)
        super().data_received(data)
        body = self._payload
        if body is not None and body.total_bytes != self._body_bytes:
            self._body_bytes = body.total_bytes
            self._beside_body_bytes = 0
        elif self._beside_body_bytes > self._max_bytes and not self._reading_paused:
            self._refuse()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Pass a head that has come whole on to whoever waits for it, with its body to be read."""
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
