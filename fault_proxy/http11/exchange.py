"""A request, and what is to become of its reply."""

from dataclasses import dataclass

from fault_proxy.faults.documents import FailFirst, Status
from fault_proxy.faults.verdict import Hit
from fault_proxy.http11.heads import RequestHead


@dataclass(slots=True)
class Exchange:
    """A request that waits for its reply."""

    request: RequestHead
    hits: tuple[Hit, ...]

    @property
    def answer(self) -> Status | FailFirst | None:
        """The fault by which the proxy answers in place of upstream."""
        for hit in self.hits:
            if isinstance(hit.fault, Status | FailFirst):
                return hit.fault
        return None

    def release(self, fault_id: str) -> None:
        """Forget a fault that has ended, unless it has kept the request from upstream."""
        self.hits = tuple(
            hit
            for hit in self.hits
            if hit.fault_id != fault_id or isinstance(hit.fault, Status | FailFirst)
        )
