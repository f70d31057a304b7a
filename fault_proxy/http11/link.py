"""Both directions of one connection that may speak HTTP/1.1."""

from collections import deque
from collections.abc import Callable

from fault_proxy.counts import Counts
from fault_proxy.faults.active import ActiveFaults
from fault_proxy.faults.effects import Ending
from fault_proxy.flow import Flow
from fault_proxy.http11.exchange import Exchange
from fault_proxy.http11.framing import Body, Framer, NotHttpError, Part
from fault_proxy.http11.heads import RequestHead, may_be_request, read_request_head
from fault_proxy.http11.replies import Replies


class HttpLink:
    """Follows requests and replies, and lets the request faults act on them.

    Where no fault hits, every byte is passed on as it comes. Once the connection turns out to
    speak something else, or switches to it, both directions are raw for good: nothing is to
    come here any more.

    Args:
        upstream: The direction of the requests.
        downstream: The direction of the replies.
        faults: What is on.
        counts: Where requests are counted.
        on_raw: Called once, when the connection turns raw.
    """

    __slots__ = (
        "_counts",
        "_downstream",
        "_exchanges",
        "_faults",
        "_framer",
        "_has_blind_bytes",
        "_on_raw",
        "_passed_of_head",
        "_replies",
        "_request",
        "_swallows",
        "_upstream",
    )

    def __init__(
        self,
        upstream: Flow,
        downstream: Flow,
        faults: ActiveFaults,
        counts: Counts,
        on_raw: Callable[[], None],
    ) -> None:
        self._upstream = upstream
        self._downstream = downstream
        self._faults = faults
        self._counts = counts
        self._on_raw = on_raw
        self._exchanges: deque[Exchange] = deque()
        self._replies = Replies(self._exchanges, downstream, faults, counts)
        self._framer = Framer(self._read_head, may_be_request)
        self._request: RequestHead | None = None  # the one that is passing
        self._passed_of_head = 0  # bytes of a head that is not all there yet
        self._swallows = False  # the request that is passing does not go upstream
        self._has_blind_bytes = False  # some passed before upstream agreed to another protocol

    def take_requests(self, data: bytes) -> None:
        """Pass on what the client sent."""
        try:
            for part in self._framer.parts(data):
                self._pass(part)
            if self._framer.partial and not self._faults.concern_requests:
                self._pass_partial()
        except NotHttpError as error:
            rest = error.rest[self._passed_of_head :]
            self._turn_raw()
            if self._swallows:
                self._downstream.end(Ending.CLOSE)  # upstream cannot make sense of half a request
            else:
                self._upstream.send(rest)

    def take_replies(self, data: bytes) -> None:
        """Pass on what upstream sent."""
        try:
            self._replies.take(data)
        except NotHttpError as error:
            self._turn_raw()
            self._downstream.send(error.rest)
        else:
            if self._framer.is_blind:
                self._look_again()

    def end_requests(self) -> None:
        """Pass on what is held, as no more comes from the client."""
        self._pass_partial()

    def end_replies(self) -> None:
        """Pass on what is held, as no more comes from upstream."""
        self._replies.pass_partial()

    def release(self, fault_id: str) -> None:
        """Let go of what a fault that has ended holds back."""
        self._replies.release(fault_id)
        if not self._faults.concern_requests:
            self._pass_partial()

    def _read_head(self, head: bytes) -> Body:
        self._request = read_request_head(head)
        return self._request.body

    def _pass(self, part: Part) -> None:
        if part.head_size and self._request is not None:
            self._begin(self._request)
        if not self._swallows:
            self._upstream.send(part.data[self._passed_of_head :])
            self._has_blind_bytes |= self._framer.is_blind
            if part.is_last and self._request is not None and self._request.may_switch:
                self._framer.is_blind = True
        self._passed_of_head = 0

    def _begin(self, request: RequestHead) -> None:
        self._counts.requests += 1
        # A request that has passed in part can be hit no more.
        is_whole = not self._passed_of_head
        hits = self._faults.hits(request.method, request.path) if is_whole else ()
        exchange = Exchange(request, hits)
        self._exchanges.append(exchange)
        self._swallows = exchange.answer is not None
        if self._swallows:
            self._replies.answer_first()
            # No reply of upstream's slows a client down that does not read its answers.
            if self._downstream.when_not_full(self._resume):
                self._upstream.throttle(on=True)

    def _resume(self) -> None:
        self._upstream.throttle(on=False)

    def _pass_partial(self) -> None:
        self._upstream.send(self._framer.partial[self._passed_of_head :])
        self._passed_of_head = len(self._framer.partial)

    def _look_again(self) -> None:
        """Go on with HTTP if upstream has refused to switch, where no byte was missed."""
        if any(exchange.request.may_switch for exchange in self._exchanges):
            return
        if self._has_blind_bytes:
            self._turn_raw()
        else:
            self._framer.is_blind = False

    def _turn_raw(self) -> None:
        self._pass_partial()
        self._replies.pass_partial()
        self._on_raw()
