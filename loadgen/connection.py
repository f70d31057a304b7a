"""One connection and the one request that is under way on it."""

import asyncio
import socket
import ssl
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, cast

from loadgen.bodies import LONGEST_BODY_BYTES
from loadgen.classify import BodyJudge, Classifier
from loadgen.endings import Ending, Endings, fault_of
from loadgen.failures import CLOSING_RACE, CUT_SHORT, EARLY_BYTES, NO_REPLY
from loadgen.outcomes import ERROR_CLASS
from loadgen.prepared import KnownHead, PreparedRequest
from loadgen.reply import ReplyError, ReplyReader
from loadgen.tickets import Source
from loadgen.unjudged import MOST_UNJUDGED, Unjudged

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadgen.origins import OriginPool

NOT_YET = float("nan")


class Owner(Protocol):
    """Who opens connections and is told what becomes of them."""

    classifier: Classifier
    endings: Endings
    keep_alive: bool
    lone: PreparedRequest | None
    source: Source
    unjudged: list[Unjudged]

    def settle(self) -> None:
        """Judge and record what is unjudged."""

    def replied(
        self, connection: "Connection", finished: float, judge: BodyJudge, body: bytes
    ) -> None:
        """Hear of a whole reply whose ending *judge* tells; the connection can be used again."""

    def lost(self, connection: "Connection", finished: float, ending: int | None) -> None:
        """Hear that a connection is of no more use, and how its request ended if it had one."""


class Connection(asyncio.Protocol):
    """Sends one request at a time and reads its reply; moments are of `time.perf_counter`.

    Attributes:
        request: what is under way; None while the connection is idle.
        scheduled: when that was due.
        sent: when it was sent.
        is_mid_reply: whether its reply has begun.
        first_byte: when that was; of use once it has.
        is_open: whether the connection can be used.
        why_dropped: what made an idle connection useless.
    """

    __slots__ = (
        "_has_replied",
        "_owner",
        "_reader",
        "_replied",
        "_send_now",
        "_socket",
        "_transport",
        "first_byte",
        "is_mid_reply",
        "is_open",
        "pool",
        "request",
        "scheduled",
        "sent",
        "why_dropped",
    )

    def __init__(self, owner: Owner, pool: "OriginPool", sock: socket.socket) -> None:
        self.pool = pool
        self.request: PreparedRequest | None = None
        self.scheduled = self.sent = self.first_byte = NOT_YET
        self.is_open = False
        self.why_dropped = ""
        self._owner = owner
        self._replied = owner.replied
        self._socket = sock
        self._transport: asyncio.Transport
        # Straight to the socket: a transport's own write waits for the end of the loop's round.
        self._send_now: Callable[[bytes], int] | None = None
        self._reader: ReplyReader | None = None
        self.is_mid_reply = False
        self._has_replied = False

    def send(self, request: PreparedRequest, scheduled: float, now: float) -> None:
        """Send a request; the connection is open and idle."""
        self.request = request
        self.scheduled = scheduled
        self.sent = now
        payload = request.payload
        if self._send_now is None:
            self._transport.write(payload)
            return
        try:
            sent = self._send_now(payload)
        except OSError:
            sent = 0  # a full buffer, or a failure that the transport will report
        if sent != len(payload):
            self._send_now = None  # from now on the transport may have bytes of its own to send
            self._transport.write(payload[sent:])

    def fail(self, error: str, now: float) -> None:
        """End the request that is under way with an error, and the connection with it."""
        if not self.is_mid_reply:
            self.first_byte = NOT_YET
        ending = Ending(ERROR_CLASS, None, error)
        if self._reader is not None and self.is_mid_reply:
            ending = _error(self._reader, error)
        self._give_up(now, self._owner.endings.code(ending))

    def drop(self, now: float, why: str = NO_REPLY) -> None:
        """Give up an idle connection."""
        self.why_dropped = why
        self._give_up(now, None)

    def abort(self) -> None:
        """Drop the connection and the request on it, without a word to the owner."""
        self.is_open = False
        self.request = None
        self._transport.abort()

    def is_closed_by_peer(self) -> bool:
        """Look whether the end of the server's side, or a surplus, has already arrived.

        Under TLS only the transport can tell, so that there the answer is no.
        """
        if self._transport.get_extra_info("sslcontext") is not None:
            return False
        try:
            self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hear from the loop that the connection, TLS included, stands."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        if transport.get_extra_info("sslcontext") is None:
            self._send_now = self._socket.send
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Take the whole of a reply whose head is known, or read on."""
        now = perf_counter()
        request = self.request
        if request is None:
            self.drop(now, EARLY_BYTES)
            return
        if self.is_mid_reply:
            self._read_on(data, now)
            return
        self.first_byte = now
        head, reply_bytes, judge = request.last_head
        if data == request.last_reply:
            body = request.last_body
        elif len(data) == reply_bytes and data.startswith(head):
            request.last_reply, request.last_body = data, (body := data[len(head) :])
        elif (known := request.judge_by_shape(data)) is not None:
            judge, body = known
        else:
            self._take_other(request, data, now)
            return
        self._has_replied = True
        owner, source = self._owner, self._owner.source
        if request is not owner.lone or not source.left or now >= source.until:
            self._replied(self, now, judge, body)
            return
        # The common reply of a closed load: as `replied` does it, without a call to that.
        source.left -= 1
        scheduled, sent, unjudged = self.scheduled, self.sent, owner.unjudged
        self.send(request, now, now)  # before anything that can wait
        unjudged.append((scheduled, sent, now, now, request.number, judge, body))
        if len(unjudged) >= MOST_UNJUDGED:
            owner.settle()

    def eof_received(self) -> None:
        """Hear that the server has closed its side, on which the loop closes ours."""
        now = perf_counter()
        self._end(now, is_clean=not self.is_mid_reply or self._is_closed_by_tls())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        """Hear that the connection is gone; what closed cleanly was heard of before."""
        self._end(perf_counter(), is_clean=False)

    def _is_closed_by_tls(self) -> bool:
        """Tell whether the server's side was closed as TLS closes, by close_notify, if it is TLS.

        uvloop reports no end of a side that was closed otherwise, asyncio's own loop does.
        """
        tls: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object")
        if tls is None:
            return True
        try:
            return tls.read(1) == b""
        except ssl.SSLError as problem:
            return isinstance(problem, ssl.SSLZeroReturnError)

    def _take_other(self, request: PreparedRequest, data: bytes, now: float) -> None:
        """Take the beginning of a reply, or all of it, under another head than the last."""
        if (known := request.find_head(data)) is not None:
            self._has_replied = True
            self._replied(self, now, known.judge, data[len(known.head) :])
        else:
            self._begin_reply(request)
            self._read_on(data, now, whole=data)

    def _begin_reply(self, request: PreparedRequest) -> None:
        if self._reader is None:
            self._reader = ReplyReader(keeps_bodies=self._owner.classifier.reads_bodies)
        self._reader.begin(is_head=request.is_head)
        self.is_mid_reply = True

    def _read_on(self, data: bytes, now: float, *, whole: bytes = b"") -> None:
        assert self._reader is not None  # noqa: S101 - begun before
        try:
            self._reader.feed(data)
        except ReplyError as problem:
            self.fail(str(problem), now)
            return
        if self._reader.is_complete:
            self._finish(self._reader, now, whole)

    def _finish(self, reader: ReplyReader, now: float, whole: bytes) -> None:
        """End the request with its complete reply; *whole* is all of it if it came at once."""
        assert reader.status is not None  # noqa: S101 - it is complete
        assert self.request is not None  # noqa: S101 - it is its reply
        self.is_mid_reply = False
        self._has_replied = True
        judge = self._judge_of(reader.status, reader)
        if not (reader.is_reusable and self._owner.keep_alive):
            self._give_up(now, judge(reader.body))
            return
        end = whole.find(b"\r\n\r\n") + 4
        if whole and len(whole) - end == reader.body_bytes:  # neither chunks nor interim replies
            known = KnownHead(whole[:end], len(whole), judge)
            self.request.learn_head(known)
            if (decisive := self._owner.classifier.decisive_headers) is not None:
                self.request.learn_shape(known, decisive)
        self._replied(self, now, judge, reader.body)

    def _judge_of(self, status: int, reader: ReplyReader) -> BodyJudge:
        if not reader.is_too_long:
            return self._owner.classifier.judge_of(status, reader.headers)
        error = f"body is longer than {LONGEST_BODY_BYTES // 2**20} MiB"
        code = self._owner.endings.code(_error(reader, error))
        return lambda _: code

    def _end(self, now: float, *, is_clean: bool) -> None:
        """Settle what the end of the connection means for its request; at most once.

        Only a clean end can be the end of a body (RFC 9112, 8 and 9.8): a reset says that the
        server has given up, and of TLS that just stops, nobody knows whether it was stopped.
        """
        if not self.is_open:
            return
        if self.request is None:
            self.drop(now)
        elif not self.is_mid_reply:
            self.fail(CLOSING_RACE if self._has_replied else NO_REPLY, now)
        else:
            assert self._reader is not None  # noqa: S101 - it is mid reply
            if is_clean:
                self._reader.end()
            if self._reader.is_complete:
                self._finish(self._reader, now, b"")
            else:
                self.fail(CUT_SHORT, now)

    def _give_up(self, now: float, ending: int | None) -> None:
        self.is_open = False
        self.is_mid_reply = False
        self._transport.abort()
        self._owner.lost(self, now, ending)
        self.request = None


def _error(reader: ReplyReader, error: str) -> Ending:
    """Return an error of a reply that is not whole, with what its head says if that is."""
    fault = "" if reader.status is None else fault_of(reader.headers)
    return Ending(ERROR_CLASS, reader.status, error, fault)
