"""One reply after another read from a connection's bytes, with no I/O."""

from collections.abc import Mapping

import httptools

from loadgen.bodies import LONGEST_BODY_BYTES
from loadgen.failures import HEAD_TOO_LONG, MALFORMED, UNASKED_UPGRADE

LONGEST_HEAD_BYTES = 64 * 1024  # of one reply, interim replies before it included
_SWITCHING_PROTOCOLS = 101
_FIRST_FINAL = 200
_BODILESS = (204, 304)


class ReplyError(Exception):
    """What came is no reply; the message is the sample's error."""


class ReplyReader:
    """Reads replies by httptools' callbacks.

    Attributes:
        status: of the reply, interim ones left out; None until its head is whole.
        headers: values by name in lower case, joined by commas where a name repeats.
        body: as it came, whole once the reply is; empty if bodies are not kept.
        is_too_long: the body is longer than LONGEST_BODY_BYTES and was not kept.
        is_complete: the reply is whole.
        is_reusable: the connection may carry another request; only once the reply is whole.
    """

    def __init__(self, *, keeps_bodies: bool) -> None:
        self._keeps_bodies = keeps_bodies
        self._parser = httptools.HttpResponseParser(self)
        self.begin(is_head=False)

    def begin(self, *, is_head: bool) -> None:
        """Make ready for the reply to the next request, *is_head* if that is a HEAD."""
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.is_complete = False
        self.is_reusable = False
        self.is_too_long = False
        self._is_head = is_head
        self._head_bytes = 0
        self._ends_with_connection = False
        self._has_surplus = False
        self._body: list[bytes] = []
        self._body_bytes = 0

    @property
    def body(self) -> bytes:
        """The body as it came."""
        return self._body[0] if len(self._body) == 1 else b"".join(self._body)

    @property
    def body_bytes(self) -> int:
        """The length of the body so far, kept or not."""
        return self._body_bytes

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            ReplyError: what came is no reply.
        """
        if self.status is None:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise ReplyError(UNASKED_UPGRADE) from None
        except httptools.HttpParserError:
            if not self.is_complete:
                raise ReplyError(MALFORMED) from None
            self._has_surplus = True
        if self.status is None and self._head_bytes > LONGEST_HEAD_BYTES:
            raise ReplyError(HEAD_TOO_LONG)
        if self.is_complete:
            self._settle_reuse()

    def end(self) -> None:
        """Take note that the server has closed: the end of a reply that has no other."""
        self.is_complete = self.is_complete or self._ends_with_connection

    def on_message_begin(self) -> None:
        """Hear from httptools that a reply begins."""
        self._has_surplus = self.is_complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Hear a header, or a trailer, which is of no interest."""
        if self.status is not None:
            return
        name = name.lower()
        known = self.headers.get(name)
        self.headers[name] = value if known is None else known + b", " + value

    def on_headers_complete(self) -> None:
        """Hear that a head is whole."""
        if self.is_complete:
            return
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL and status != _SWITCHING_PROTOCOLS:
            return
        self.status = status
        if self._has_no_body():
            self.is_complete = True
        else:
            chunked = self.headers.get(b"transfer-encoding", b"").lower().endswith(b"chunked")
            self._ends_with_connection = not chunked and b"content-length" not in self.headers

    def on_body(self, part: bytes) -> None:
        """Hear a part of the body, chunks and all framing taken off."""
        if self.is_complete:
            self._has_surplus = True
            return
        self._body_bytes += len(part)
        if not self._keeps_bodies:
            return
        if self._body_bytes > LONGEST_BODY_BYTES:
            self.is_too_long = True
            self._body.clear()
        else:
            self._body.append(part)

    def on_message_complete(self) -> None:
        """Hear that a reply is whole, perhaps an interim one."""
        if self.status is None:
            self.headers.clear()
        else:
            self.is_complete = True

    def _settle_reuse(self) -> None:
        self.is_reusable = (
            not self._has_surplus
            and not self._ends_with_connection
            and keeps_alive(self._parser.get_http_version(), self.headers)
        )
        if self._has_no_body():  # httptools may wait for the body that the head announces
            self._parser = httptools.HttpResponseParser(self)

    def _has_no_body(self) -> bool:
        return self._is_head or self.status in _BODILESS


def keeps_alive(http_version: str, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether the server means to keep the connection after this reply (RFC 9112, 9.3)."""
    tokens = {token.strip() for token in headers.get(b"connection", b"").lower().split(b",")}
    if http_version == "1.0":
        return b"keep-alive" in tokens
    return b"close" not in tokens
