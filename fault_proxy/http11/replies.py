"""The replies of one connection."""

from collections import deque

from fault_proxy.counts import Counts
from fault_proxy.faults.active import ActiveFaults
from fault_proxy.faults.documents import FailFirst, Status
from fault_proxy.faults.effects import Ending
from fault_proxy.faults.verdict import Hit, in_effect
from fault_proxy.flow import Flow
from fault_proxy.http11.answers import answer
from fault_proxy.http11.exchange import Exchange
from fault_proxy.http11.framing import Body, Framer, NotHttpError, Part
from fault_proxy.http11.heads import ReplyHead, may_be_reply, read_reply_head
from fault_proxy.http11.touched import TouchedReply


class Replies:
    """Passes the replies on, in the order of the *exchanges*, and answers in upstream's place."""

    __slots__ = (
        "_counts",
        "_exchanges",
        "_faults",
        "_flow",
        "_framer",
        "_head",
        "_passed_of_head",
        "_touched",
    )

    def __init__(
        self, exchanges: deque[Exchange], flow: Flow, faults: ActiveFaults, counts: Counts
    ) -> None:
        self._exchanges = exchanges
        self._flow = flow
        self._faults = faults
        self._counts = counts
        self._framer = Framer(self._read_head, may_be_reply)
        self._head: ReplyHead | None = None
        self._passed_of_head = 0  # bytes of a head that is not all there yet
        self._touched: TouchedReply | None = None  # the reply that is passing, if it is

    def take(self, data: bytes) -> None:
        """Pass on what upstream sent.

        Raises:
            NotHttpError: it is no HTTP; its `rest` is not passed on yet.
        """
        try:
            for part in self._framer.parts(data):
                self._pass(part)
            if self._framer.partial and not self._holds_head():
                self.pass_partial()
        except NotHttpError as error:
            if self._touched is not None:
                self._touched.send_body(b"", is_last=True)  # a reply to be cut off stays cut off
            raise NotHttpError(error.rest[self._passed_of_head :]) from error

    def pass_partial(self) -> None:
        """Pass on what there is of a head."""
        self._flow.send(self._framer.partial[self._passed_of_head :])
        self._passed_of_head = len(self._framer.partial)

    def answer_first(self) -> None:
        """Give the proxy's own answers that are due: those with no reply before them."""
        while self._exchanges and (fault := self._exchanges[0].answer) is not None:
            self._answer(self._exchanges.popleft(), fault)

    def release(self, fault_id: str) -> None:
        """Forget a fault that has ended."""
        for exchange in self._exchanges:
            exchange.release(fault_id)
        if self._touched is not None:
            self._touched.release(fault_id)
        if not self._holds_head():
            self.pass_partial()

    def _holds_head(self) -> bool:
        return bool(self._exchanges and self._exchanges[0].hits)

    def _read_head(self, head: bytes) -> Body:
        if not self._exchanges:
            raise NotHttpError  # nobody asked
        self._head = read_reply_head(head, self._exchanges[0].request.method)
        if self._head.switches:
            raise NotHttpError
        return self._head.body

    def _pass(self, part: Part) -> None:
        if part.head_size:
            self._begin(part)
        elif self._touched is not None:
            self._touched.send_body(part.data, is_last=part.is_last)
        else:
            self._flow.send(part.data)
        if part.is_last:
            self._end()

    def _begin(self, part: Part) -> None:
        exchange = self._exchanges[0]
        hits = exchange.hits and self._hits_in_effect(exchange, part)
        if not hits:
            self._flow.send(part.data[self._passed_of_head :])
        else:
            self._counts.hit_requests += 1
            self._touched = TouchedReply(self._flow, hits, self._faults.count_touched)
            self._touched.send_head(part.data[: part.head_size])
            self._touched.send_body(part.data[part.head_size :], is_last=part.is_last)
        self._passed_of_head = 0

    def _hits_in_effect(self, exchange: Exchange, part: Part) -> tuple[Hit, ...]:
        if self._head is None or self._head.is_interim:
            return ()
        return in_effect(exchange.hits, body=self._has_body(part))

    def _has_body(self, part: Part) -> bool:
        return not part.is_last or len(part.data) > part.head_size

    def _end(self) -> None:
        self._touched = None
        if self._head is not None and not self._head.is_interim:
            self._exchanges.popleft()
            self.answer_first()

    def _answer(self, exchange: Exchange, fault: Status | FailFirst) -> None:
        request = exchange.request
        hits = in_effect(exchange.hits, body=False)
        self._counts.hit_requests += 1
        for hit in hits:
            self._faults.count_touched(hit.fault_id)
        is_kept_alive = request.is_kept_alive and not request.expects_continue
        reply = answer(
            fault.status,
            [hit.fault.name for hit in hits],
            retry_after_s=fault.retry_after_s,
            is_kept_alive=is_kept_alive,
            has_body=request.method != "HEAD",
        )
        self._flow.send_under(
            reply, delays_s={hit.fault_id: hit.delay_s for hit in hits if hit.delay_s}
        )
        if not is_kept_alive:
            self._flow.end(Ending.CLOSE)
