"""A request made ready to be sent: its bytes, rendered once, and the heads of replies to it."""

from typing import NamedTuple

from loadgen.classify import BodyJudge
from loadgen.load import Load, Request
from loadgen.url import Origin, parse_url

MOST_KNOWN_HEADS = 64
LONGEST_KNOWN_HEAD = 4096
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class KnownHead(NamedTuple):
    """What a reply's head, seen before, says of the body that follows it."""

    body_bytes: int
    judge: BodyJudge


class PreparedRequest:
    """A request as it goes over the wire.

    Attributes:
        number: its place in the load's requests.
        origin: where it goes.
        payload: head and body.
        is_head: whether its replies have no body.
        known_heads: of whole replies to it that leave the connection open, by the head's exact
            bytes. A server's heads repeat, but for the date once a second; to look one up is
            far cheaper than to parse it.
    """

    __slots__ = ("is_head", "known_heads", "number", "origin", "payload")

    def __init__(self, number: int, request: Request, *, keep_alive: bool) -> None:
        self.number = number
        self.origin: Origin = parse_url(request.url).origin
        self.payload = render(request, keep_alive=keep_alive)
        self.is_head = request.method == "HEAD"
        self.known_heads: dict[bytes, KnownHead] = {}

    def learn_head(self, head: bytes, known: KnownHead) -> None:
        """Remember a head; a server that never repeats one costs no more memory for that."""
        if len(head) <= LONGEST_KNOWN_HEAD:
            if len(self.known_heads) >= MOST_KNOWN_HEADS:
                self.known_heads.clear()
            self.known_heads[head] = known


def prepare(load: Load) -> list[PreparedRequest]:
    """Return the requests of a load made ready, in its order."""
    return [
        PreparedRequest(number, request, keep_alive=load.keep_alive)
        for number, request in enumerate(load.requests)
    ]


def render(request: Request, *, keep_alive: bool) -> bytes:
    """Return the bytes of a request: its own headers go before the ones that are always sent."""
    url = parse_url(request.url)
    body = b"" if request.body is None else request.body.encode()
    headers = {"Host": url.authority, "User-Agent": "loadgen", "Accept": "*/*"}
    own = {name.lower() for name in request.headers}
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in own]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    if body or request.method in _WITH_BODY:
        lines.append(f"Content-Length: {len(body)}")
    if not keep_alive:
        lines.append("Connection: close")
    head = "\r\n".join([f"{request.method} {url.target} HTTP/1.1", *lines])
    return f"{head}\r\n\r\n".encode("ascii") + body
