"""What the head of a message says, read by httptools."""

import re
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus

import httptools

from fault_proxy.http11.framing import Body, NotHttpError, Open

_FIRST_REDIRECT = 300
_REQUEST_LINE = re.compile(rb"[A-Z-]{1,32} \S+ HTTP/1\.[01]")
_BEGINS_REQUEST_LINE = re.compile(rb"[A-Z-]{1,32}( \S*( H?T?T?P?/?1?\.?[01]?\r?)?)?")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-5]\d\d( [^\r\n]*)?")
_BEGINS_STATUS_LINE = re.compile(rb"H(T(T(P(/(1(\.([01]( [^\n]*)?)?)?)?)?)?)?)?\r?")


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request, as far as the proxy needs it."""

    method: str
    path: str  # with the query
    body: Body
    is_kept_alive: bool
    may_switch: bool  # another protocol may follow, if the reply agrees
    expects_continue: bool


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """The head of a reply, as far as the proxy needs it."""

    body: Body
    is_interim: bool  # another reply to the same request follows
    switches: bool  # another protocol follows


# Keep-alive traffic repeats its heads; a short memory of them is worth more than a fast parser.
@lru_cache(maxsize=64)
def read_request_head(head: bytes) -> RequestHead:
    """Return what *head*, with the empty line at its end, says.

    Raises:
        NotHttpError: it is no head of an HTTP/1.1 (or 1.0) request.
    """
    lines = _Lines()
    parser = httptools.HttpRequestParser(lines)
    may_switch = _feed(parser, head)
    if not may_be_request(head):  # the parser knows relatives of HTTP too
        raise NotHttpError
    return RequestHead(
        method=parser.get_method().decode("ascii"),
        path=_path(lines.url),
        body=lines.body(Open.CHUNKED if lines.is_chunked else 0),
        is_kept_alive=lines.is_kept_alive(parser.get_http_version()),
        may_switch=may_switch,
        expects_continue=lines.expects_continue,
    )


@lru_cache(maxsize=64)
def read_reply_head(head: bytes, method: str) -> ReplyHead:
    """Return what *head*, with the empty line at its end, says in reply to a *method*.

    Raises:
        NotHttpError: it is no head of an HTTP/1.1 (or 1.0) reply.
    """
    lines = _Lines()
    parser = httptools.HttpResponseParser(lines)
    _feed(parser, head)
    status = parser.get_status_code()
    is_tunnel = method == "CONNECT" and HTTPStatus.OK <= status < _FIRST_REDIRECT
    without_length = Open.CHUNKED if lines.is_chunked else Open.UNTIL_CLOSE
    return ReplyHead(
        body=0 if _has_no_body(status, method) else lines.body(without_length),
        is_interim=status < HTTPStatus.OK,
        switches=is_tunnel or status == HTTPStatus.SWITCHING_PROTOCOLS,
    )


def may_be_request(partial: bytes) -> bool:
    """Whether the head of a request may begin with *partial*."""
    return _may_be(partial, _REQUEST_LINE, _BEGINS_REQUEST_LINE)


def may_be_reply(partial: bytes) -> bool:
    """Whether the head of a reply may begin with *partial*."""
    return _may_be(partial, _STATUS_LINE, _BEGINS_STATUS_LINE)


def _may_be(partial: bytes, whole: re.Pattern[bytes], begun: re.Pattern[bytes]) -> bool:
    line, line_end, _ = partial.partition(b"\r\n")
    return (whole if line_end else begun).fullmatch(line) is not None


def _has_no_body(status: int, method: str) -> bool:
    """Whether a reply ends with its head (RFC 9112, 6.3)."""
    return (
        method == "HEAD"
        or status < HTTPStatus.OK
        or status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
    )


class _Lines:
    """Collects what httptools reads."""

    def __init__(self) -> None:
        self.url = b""
        self.length: int | None = None
        self.is_chunked = False
        self.expects_continue = False
        self.connection: set[bytes] = set()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-length":
                self.length = int(value)
            case b"transfer-encoding":
                self.is_chunked = value.rpartition(b",")[2].strip().lower() == b"chunked"
                self.length = None if not self.is_chunked else self.length
            case b"connection":
                self.connection |= {option.strip() for option in value.lower().split(b",")}
            case b"expect":
                self.expects_continue = value.lower() == b"100-continue"

    def is_kept_alive(self, version: str) -> bool:
        """Whether the connection goes on (RFC 9112, 9.3)."""
        if b"close" in self.connection:
            return False
        return version == "1.1" or b"keep-alive" in self.connection

    def body(self, without_length: Body) -> Body:
        return without_length if self.is_chunked or self.length is None else self.length


def _feed(parser: httptools.HttpRequestParser | httptools.HttpResponseParser, head: bytes) -> bool:
    """Let *parser* read; return whether another protocol may follow."""
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        return True
    except httptools.HttpParserError as error:
        raise NotHttpError from error
    return False


def _path(url: bytes) -> str:
    """Return the path of a request target in origin or absolute form (RFC 9112, 3.2)."""
    text = url.decode("latin-1")
    if text.startswith("/") or "://" not in text:
        return text
    _, slash, path = text.partition("://")[2].partition("/")
    return slash + path or "/"
