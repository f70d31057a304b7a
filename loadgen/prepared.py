"""A request made ready to be sent: its bytes, rendered once, and the heads of replies to it."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from loadgen.classify import BodyJudge
from loadgen.head_shapes import pattern_of
from loadgen.load import Load, Request
from loadgen.url import Origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_KNOWN_HEADS = 64
LONGEST_KNOWN_HEAD = 4096
MOST_SHAPES = 16  # that are compiled; a server with more is read by the parser
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class KnownHead(NamedTuple):
    """A reply's head, seen before: how long the reply is with its body, and what judges that."""

    head: bytes
    reply_bytes: int
    judge: BodyJudge


class HeadShape(NamedTuple):
    """Heads that differ in nothing that counts: what knows one, and what judges its body."""

    match: "Callable[[bytes], re.Match[bytes] | None]"
    judge: BodyJudge


class PreparedRequest:
    """A request with one of its bodies as it goes over the wire.

    Attributes:
        number: its place in the load's requests.
        origin: where it goes.
        payload: head and body.
        is_head: whether its replies have no body.
        last_head: that of the last whole reply to it that left the connection open. A server's
            heads repeat, but for the date once a second; to compare is far cheaper than to parse.
        last_reply: the last whole reply under that head; empty before there is one.
        last_body: its body.
    """

    __slots__ = (
        "_known_heads",
        "_last_shape",
        "_shaped_head",
        "_shapes",
        "is_head",
        "last_body",
        "last_head",
        "last_reply",
        "number",
        "origin",
        "payload",
    )

    def __init__(
        self,
        number: int,
        *,
        origin: Origin,
        payload: bytes,
        is_head: bool,
        known_heads: dict[bytes, KnownHead],
        shapes: dict[bytes, HeadShape],
    ) -> None:
        self.number = number
        self.origin = origin
        self.payload = payload
        self.is_head = is_head
        self.last_head = KnownHead(b"", -1, lambda _: 0)  # no reply has that length
        self.last_reply = self.last_body = b""
        self._known_heads = known_heads  # all bodies of a request share them
        self._shapes = shapes  # by the source of their patterns; shared likewise
        self._last_shape = HeadShape(lambda _: None, lambda _: 0)
        self._shaped_head = b""  # of the last reply that a shape knew

    def judge_by_shape(self, reply: bytes) -> tuple[BodyJudge, bytes] | None:
        """Return what judges the body, and the body, of a whole reply under a head of known shape.

        None if its head is like none before, or if it is not whole.
        """
        shape = self._last_shape
        found = shape.match(reply)
        if found is None:
            for shape in self._shapes.values():
                if (found := shape.match(reply)) is not None:
                    self._last_shape = shape
                    break
            else:
                return None
        end = found.end()
        if len(reply) - end != int(found[1]):
            return None
        head, body = reply[:end], reply[end:]
        if head == self._shaped_head:  # it repeats: to compare it is enough from now on
            self.last_head = KnownHead(head, len(reply), shape.judge)
            self.last_reply, self.last_body = reply, body
        self._shaped_head = head
        return shape.judge, body

    def learn_shape(self, known: KnownHead, decisive: Collection[bytes]) -> None:
        """Remember what heads are like *known*, if not too many are remembered already."""
        body_bytes = known.reply_bytes - len(known.head)
        source = pattern_of(known.head, body_bytes, decisive)
        if source is not None and len(self._shapes) < MOST_SHAPES:
            shape = HeadShape(re.compile(source).match, known.judge)
            self._last_shape = self._shapes.setdefault(source, shape)

    def learn_head(self, known: KnownHead) -> None:
        """Remember a head; a server that never repeats one costs no more memory for that."""
        if len(known.head) <= LONGEST_KNOWN_HEAD:
            if len(self._known_heads) >= MOST_KNOWN_HEADS:
                self._known_heads.clear()
            self._known_heads[known.head] = self.last_head = known
            self.last_reply = b""

    def find_head(self, reply: bytes) -> KnownHead | None:
        """Return the head of *reply* if it is known and the reply is whole."""
        known = self._known_heads.get(reply[: reply.find(b"\r\n\r\n") + 4])
        if known is None or len(reply) != known.reply_bytes:
            return None
        self.last_head = known
        self.last_reply = b""
        return known


def prepare(load: Load) -> list[list[PreparedRequest]]:
    """Return for each request of a load, in its order, what to send in turn: one for each body."""
    return [
        _with_each_body(number, request, keep_alive=load.keep_alive)
        for number, request in enumerate(load.requests)
    ]


def _with_each_body(number: int, request: Request, *, keep_alive: bool) -> list[PreparedRequest]:
    origin = parse_url(request.url).origin
    known_heads: dict[bytes, KnownHead] = {}
    shapes: dict[bytes, HeadShape] = {}
    return [
        PreparedRequest(
            number,
            origin=origin,
            payload=render(request, body, keep_alive=keep_alive),
            is_head=request.method == "HEAD",
            known_heads=known_heads,
            shapes=shapes,
        )
        for body in request.bodies or (request.body or "",)
    ]


def render(request: Request, body: str, *, keep_alive: bool) -> bytes:
    """Return the bytes of a request: its own headers go before the ones that are always sent."""
    url = parse_url(request.url)
    content = body.encode()
    headers = {"Host": url.authority, "User-Agent": "loadgen", "Accept": "*/*"}
    own = {name.lower() for name in request.headers}
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in own]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    if content or request.method in _WITH_BODY:
        lines.append(f"Content-Length: {len(content)}")
    if not keep_alive:
        lines.append("Connection: close")
    head = "\r\n".join([f"{request.method} {url.target} HTTP/1.1", *lines])
    return f"{head}\r\n\r\n".encode("ascii") + content
