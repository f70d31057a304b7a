"""Undoes a body's content coding without more memory than asked for.

httpx decodes whole chunks at once, so that a few hundred bytes can become half a gigabyte before
anybody counts; it takes a body that ends in the middle for a whole one, and drops all but the first
member of a gzip file.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import httpx

_STEP_BYTES = 65_536
_GZIP_HEADER = 16 + zlib.MAX_WBITS
_ZLIB_HEADER = zlib.MAX_WBITS
_NO_HEADER = -zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"  # RFC 1952 2.3.1
_UNBOUNDED = frozenset({"br", "zstd"})
_CUT = "the encoded body ends in the middle"


class Decoder(Protocol):
    """Turns the bytes on the wire into those that were meant."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what can be said of the body so far.

        Decoded parts are of at most 64 KiB; a body without coding is yielded as it came.

        Raises:
            httpx.DecodingError: The data is not in the coding.
        """

    def finish(self) -> None:
        """Note the end of the data.

        Raises:
            httpx.DecodingError: It came in the middle.
        """


def decoder_of(content_encoding: str) -> Decoder:
    """Return a decoder for the value of a Content-Encoding header.

    An unknown coding is left as it is, as httpx does.

    Raises:
        httpx.DecodingError: More than one coding, or one that nobody can undo step by step: a
            thousand bytes of it may be a gigabyte, and no request of ours accepts it.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",") if coding.strip()]
    if len(codings) > 1:
        raise httpx.DecodingError(f"encoded more than once: {content_encoding!r:.80}")
    coding = codings[0] if codings else "identity"
    if coding in _UNBOUNDED:
        raise httpx.DecodingError(
            f"encoded as {coding!r}, which was not asked for; drop your Accept-Encoding header, or "
            "stream the response and decode aiter_raw() yourself"
        )
    if coding == "deflate":
        return Deflate()
    return Gzip() if coding in {"gzip", "x-gzip"} else Identity()


async def in_chunks(parts: AsyncIterator[bytes], size: int | None) -> AsyncIterator[bytes]:
    """Yield the same bytes in chunks of `size`, the last one shorter; as they come for None."""
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
        """Do nothing: the transport knows where the data ends."""


class Gzip:
    """Any number of members one after the other (RFC 1952 2.2).

    What follows the last member and begins none is dropped, as gunzip does.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_HEADER)
        self._begun = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        """See `Decoder`."""
        while data:
            if self._member.eof:
                if not _GZIP_BEGINS.startswith(data[:2]):
                    return
                self._member = zlib.decompressobj(_GZIP_HEADER)
            self._begun = True
            yield from _decompressed(self._member, data)
            data = self._member.unused_data

    def finish(self) -> None:
        """See `Decoder`."""
        if self._begun and not self._member.eof:
            raise httpx.DecodingError(_CUT)


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
            raise httpx.DecodingError(_CUT)


def _is_zlib_header(data: bytes) -> bool:
    """Tell by the first two bytes, or the only one that has come; source: RFC 1950 2.2."""
    method_is_deflate = data[0] & 0x0F == 8  # noqa: PLR2004 - the number of the RFC
    return method_is_deflate and (len(data) == 1 or (data[0] * 256 + data[1]) % 31 == 0)


def _decompressed(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    part = b""
    while data or len(part) == _STEP_BYTES:  # a full part: there may be more without more data
        try:
            part = stream.decompress(data, _STEP_BYTES)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        if part:
            yield part
        data = stream.unconsumed_tail
