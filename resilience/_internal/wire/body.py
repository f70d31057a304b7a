"""A response's body: decoded and counted step by step, and read whole.

httpx decodes whole chunks at once, so that a few hundred bytes can become half a gigabyte before
they are counted; it accepts a body that ends in the middle as complete, and drops all but the first
member of a gzip file.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, Protocol

import httpx

from resilience._internal.outcome import is_transient_status
from resilience.errors import ResponseTooLarge, StreamIdle, UndecodableBody

_STEP_BYTES = 65_536
_GZIP_HEADER = 16 + zlib.MAX_WBITS
_ZLIB_HEADER = zlib.MAX_WBITS
_NO_HEADER = -zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"  # RFC 1952 2.3.1
_UNBOUNDED = frozenset({"br", "zstd"})
_CUT = "the encoded body ends in the middle"
_UNUSABLE = (ResponseTooLarge, StreamIdle, httpx.DecodingError, httpx.TransportError)


class Decoder(Protocol):
    """Turns encoded bytes into decoded ones."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what can be decoded so far.

        Decoded parts have at most 64 KiB; a body without coding is yielded as it came.

        Raises:
            UndecodableBody: The data is not in the coding.
        """

    def finish(self) -> None:
        """Note the end of the data.

        Raises:
            UndecodableBody: The body is incomplete.
        """


def decoder_of(content_encoding: str) -> Decoder:
    """Return a decoder for the value of a Content-Encoding header.

    An unknown coding is left as it is, as httpx does.

    Raises:
        UndecodableBody: More than one coding, or one that cannot be decoded step by step: a
            thousand bytes of it may be a gigabyte, and no request of ours accepts it.
    """
    named = (coding.strip().lower() for coding in content_encoding.split(","))
    codings = [coding for coding in named if coding not in {"", "identity"}]
    if len(codings) > 1:
        raise UndecodableBody(f"encoded more than once: {content_encoding!r:.80}")
    coding = codings[0] if codings else "identity"
    if coding in _UNBOUNDED:
        raise UndecodableBody(
            f"encoded as {coding!r}, which was not asked for; drop your Accept-Encoding header, or "
            "stream the response and decode aiter_raw() yourself"
        )
    if coding == "deflate":
        return Deflate()
    return Gzip() if coding in {"gzip", "x-gzip"} else Identity()


async def in_chunks(parts: AsyncIterator[bytes], size: int | None) -> AsyncIterator[bytes]:
    """Yield the same bytes in chunks of `size`, the last one shorter; as they come for None.

    Raises:
        ValueError: The size is below 1.
    """
    if size is not None and size < 1:
        raise ValueError(f"chunk_size must be 1 or more, got {size}; leave it out for any")
    gathered = bytearray()
    async for part in parts:
        if size is None:
            yield part
            continue
        gathered += part
        while len(gathered) >= size:
            yield bytes(gathered[:size])
            del gathered[:size]
    if gathered:
        yield bytes(gathered)


class Identity:
    """Leaves the data as it is."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield the data."""
        if data:
            yield data

    def finish(self) -> None:
        """Do nothing: the transport detects the end of the data."""


class Gzip:
    """Any number of members in sequence (RFC 1952 2.2), with or without zeros between them.

    Other data after the last member is dropped, as gunzip does.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_HEADER)
        self._begun = False
        self._held = b""  # half of a possible member header
        self._ended = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        """See `Decoder`."""
        data = self._held + data
        self._held = b""
        while data and not self._ended:
            if self._member.eof:
                data = self._next_member(data.lstrip(b"\0"))
                continue
            self._begun = True
            yield from _decompressed(self._member, data)
            data = self._member.unused_data

    def finish(self) -> None:
        """See `Decoder`."""
        if self._begun and not self._member.eof:
            raise UndecodableBody(_CUT)

    def _next_member(self, data: bytes) -> bytes:
        """Return the data that the member to come has begun with, so far."""
        if data.startswith(_GZIP_BEGINS):
            self._member = zlib.decompressobj(_GZIP_HEADER)
            return data
        if data == _GZIP_BEGINS[:1]:
            self._held = data
        elif data:
            self._ended = True
        return b""


class Deflate:
    """zlib's format (RFC 1950), or without its header, as many servers understand the name."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_ZLIB_HEADER)
        self._begun = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        """See `Decoder`."""
        if data and not self._begun:
            self._begun = True
            if not _is_zlib_header(data):
                self._stream = zlib.decompressobj(_NO_HEADER)
        yield from _decompressed(self._stream, data)

    def finish(self) -> None:
        """See `Decoder`."""
        if self._begun and not self._stream.eof:
            raise UndecodableBody(_CUT)


def _is_zlib_header(data: bytes) -> bool:
    """Tell from the first two bytes, or the first if only one has come; source: RFC 1950 2.2."""
    method_is_deflate = data[0] & 0x0F == 8  # noqa: PLR2004 - the number of the RFC
    return method_is_deflate and (len(data) == 1 or (data[0] * 256 + data[1]) % 31 == 0)


def _decompressed(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    part = b""
    while data or len(part) == _STEP_BYTES:  # a full part: there may be more without more data
        try:
            part = stream.decompress(data, _STEP_BYTES)
        except zlib.error as error:
            raise UndecodableBody(str(error)) from error
        if part:
            yield part
        if stream.eof:  # what is left is `unused_data` then, and `unconsumed_tail` of no meaning
            return
        data = stream.unconsumed_tail


class BoundedResponse(httpx.Response):
    """Bounds the decoded size of a body that is read whole: a small one may decode to a huge one.

    Args:
        status_code: See `httpx.Response`, as for the rest.
        limit_bytes: Largest decoded body for `aread`, in bytes; ResponseTooLarge beyond.
        rest: See `httpx.Response`.
    """

    def __init__(self, status_code: int, *, limit_bytes: int, **rest: Any) -> None:  # noqa: ANN401
        super().__init__(status_code, **rest)
        self._limit_bytes = limit_bytes
        self._is_gathered = False

    async def aread(self) -> bytes:
        """Return the whole body.

        Raises:
            ResponseTooLarge: It outgrew the limit.
            UndecodableBody: It is not in the coding that it claims, is incomplete, or is in a
                coding that is not decoded here, see `decoder_of`.
            httpx.TransportError: The network failed.
        """
        self._is_gathered = True
        return await super().aread()

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """Yield the decoded body as it comes, or in chunks of `chunk_size` bytes; see `aread`."""
        if self.is_stream_consumed:  # the whole body is there, or else httpx says that it is gone
            parts = super().aiter_bytes(chunk_size)
        else:
            parts = in_chunks(self._decoded(), chunk_size)
        async for part in parts:
            yield part

    async def _decoded(self) -> AsyncIterator[bytes]:
        received = 0
        decoder: Decoder | None = None  # a response without a body may name any coding
        try:
            async for data in self.aiter_raw():
                decoder = decoder or decoder_of(self.headers.get("content-encoding", ""))
                for part in decoder.decode(data):
                    received += len(part)
                    if self._is_gathered and received > self._limit_bytes:
                        raise ResponseTooLarge(self._limit_bytes)
                    yield part
            if decoder is not None:
                decoder.finish()
        except UndecodableBody as error:
            error.request = self.request
            raise


async def read_whole(response: httpx.Response) -> httpx.Response:
    """Return the response with its body read.

    A transient status (5xx, 408, 429) is enough by itself: where its body is too large, cannot be
    decoded, pauses too long or is incomplete, the response is returned with an empty body, so that
    it is retried and counted by its status.

    Raises:
        ResponseTooLarge, UndecodableBody, StreamIdle, httpx.TransportError: The body of any other
            response.
    """
    try:
        await response.aread()
    except _UNUSABLE as error:
        await response.aclose()
        if is_transient_status(response.status_code):
            return _without_body(response)
        if isinstance(error, httpx.DecodingError) and not isinstance(error, UndecodableBody):
            undecodable = UndecodableBody(str(error))
            undecodable.request = response.request
            raise undecodable from error
        raise
    except BaseException:
        await response.aclose()
        raise
    return response


def _without_body(response: httpx.Response) -> httpx.Response:
    kept = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name not in {"content-encoding", "content-length", "transfer-encoding"}
    ]
    empty = httpx.Response(response.status_code, headers=kept, request=response.request)
    with suppress(RuntimeError):  # httpx raises it while `elapsed` is not set
        empty.elapsed = response.elapsed
    return empty
