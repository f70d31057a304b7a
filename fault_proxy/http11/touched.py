"""A reply of upstream's under faults: later, in drips, cut off."""

from collections.abc import Callable, Sequence

from fault_proxy.faults.documents import Drip, Truncate
from fault_proxy.faults.effects import Effect, Ending, Pieces
from fault_proxy.faults.verdict import Hit
from fault_proxy.flow import Flow
from fault_proxy.http11.answers import marked


class TouchedReply:
    """Passes one reply to *flow*, head first, under the *hits* that are in effect.

    *on_touch* is called with the id of each fault that does something to it, once: of a drip when
    it cuts the body or holds it up, for a body may be shorter than a piece.
    """

    __slots__ = (
        "_delays_s",
        "_drips",
        "_flow",
        "_hits",
        "_keep_bytes",
        "_on_touch",
        "_tail",
        "_touched_by",
    )

    def __init__(self, flow: Flow, hits: Sequence[Hit], on_touch: Callable[[str], None]) -> None:
        self._flow = flow
        self._hits = hits
        self._on_touch = on_touch
        self._touched_by: set[str] = set()
        self._delays_s = {hit.fault_id: hit.delay_s for hit in hits if hit.delay_s}
        self._drips: dict[str, Effect] = {
            hit.fault_id: Pieces(hit.fault.piece_bytes, hit.fault.every_ms / 1000)
            for hit in hits
            if isinstance(hit.fault, Drip)
        }
        keeps = [hit.fault.keep_bytes for hit in hits if isinstance(hit.fault, Truncate)]
        self._keep_bytes = min(keeps, default=None)
        self._tail = b""  # held back, as it may be the last byte of a body to be cut

    def send_head(self, head: bytes) -> None:
        """Pass the head on, marked."""
        for hit in self._hits:
            if hit.fault_id not in self._drips:
                self._touch(hit.fault_id)
        self._flow.send_under(
            marked(head, [hit.fault.name for hit in self._hits]), delays_s=self._delays_s
        )

    def send_body(self, data: bytes, *, is_last: bool) -> None:
        """Pass on what there is of the body."""
        if self._keep_bytes is None:
            self._send(data)
            return
        tail = self._tail + data
        passing = min(self._keep_bytes, max(0, len(tail) - 1))
        self._send(tail[:passing])
        self._tail = tail[passing:]
        self._keep_bytes -= passing
        if is_last or not self._keep_bytes:
            self._flow.end(Ending.CLOSE)

    def release(self, fault_id: str) -> None:
        """Drip the rest no longer, if it was by that fault."""
        self._drips.pop(fault_id, None)

    def _send(self, data: bytes) -> None:
        if self._drips:
            self._flow.send_under(data, effects=self._drips, on_touch=self._touch)
        else:
            self._flow.send(data)

    def _touch(self, fault_id: str) -> None:
        if fault_id not in self._touched_by:
            self._touched_by.add(fault_id)
            self._on_touch(fault_id)
