"""Content codings taken off a reply's body, within bounds."""

import importlib
import zlib
from typing import Any

LONGEST_BODY_BYTES = 16 * 2**20  # of what is kept to be looked at, coded or decoded
_AUTO_DETECT_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_GZIP = (b"gzip", b"x-gzip")


class BodyError(Exception):
    """A body that cannot be decoded."""


def decoded(body: bytes, encoding: bytes) -> bytes:
    """Return *body* without its content coding.

    Args:
        body: whole, as it came.
        encoding: the value of Content-Encoding, in lower case.

    Raises:
        BodyError: the coding is unknown, the body is no such thing or is cut short, or what comes
            out is longer than LONGEST_BODY_BYTES.
    """
    if encoding in _GZIP:
        return _inflate(body, "gzip", zlib.decompressobj(_AUTO_DETECT_GZIP_OR_ZLIB))
    if encoding == b"deflate":  # zlib's format by RFC 9110; bare by some servers
        is_bare = body[:1] and body[0] & 0x0F != 8  # noqa: PLR2004 - the mark of zlib's format
        bits = -zlib.MAX_WBITS if is_bare else zlib.MAX_WBITS
        return _inflate(body, "deflate", zlib.decompressobj(bits))
    if encoding == b"br" and (brotli := _brotli()) is not None:
        return _unbrotli(body, brotli)
    raise BodyError(f"the coding {encoding.decode('latin-1')[:40]!r} of the body is unknown")


def _inflate(body: bytes, name: str, decoder: "zlib._Decompress") -> bytes:
    try:
        content = decoder.decompress(body, LONGEST_BODY_BYTES)
    except zlib.error as problem:
        raise BodyError(f"body is not {name}") from problem
    if decoder.unconsumed_tail:
        raise BodyError(_too_long())
    if not decoder.eof:
        raise BodyError(f"body is {name} cut short")
    return content


def _unbrotli(body: bytes, brotli: Any) -> bytes:  # noqa: ANN401 - an optional module
    decoder = brotli.Decompressor()
    try:
        content: bytes = decoder.process(body, output_buffer_limit=LONGEST_BODY_BYTES)
    except brotli.error as problem:
        raise BodyError("body is not br") from problem
    if not decoder.is_finished():
        raise BodyError("body is br cut short" if decoder.can_accept_more_data() else _too_long())
    return content


def _too_long() -> str:
    return f"body is longer than {LONGEST_BODY_BYTES // 2**20} MiB"


def _brotli() -> Any:  # noqa: ANN401 - an optional module
    try:
        return importlib.import_module("brotli")
    except ImportError:
        return None
