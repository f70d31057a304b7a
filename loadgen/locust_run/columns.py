"""The samples of a run, a list a column, and their form on the way between processes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class Columns:
    """One entry of each list a request.

    Attributes:
        scheduled_s: when it was due, in seconds since the load began: when its user was free.
        sent_s: when it was sent; in this load the same moment.
        finished_s: when its reply's last byte, or its failure, was there.
        outcome: its class; `error` for all that is none of the load's classes.
        status: HTTP status; None where no status line came.
        error: why it is an error, in a few words; else empty.
    """

    scheduled_s: list[float] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)
    finished_s: list[float] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    status: list[int | None] = field(default_factory=list)
    error: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.outcome)

    def add(
        self, *, sent_s: float, finished_s: float, outcome: str, status: int | None, error: str
    ) -> None:
        """Append one request."""
        self.scheduled_s.append(sent_s)
        self.sent_s.append(sent_s)
        self.finished_s.append(finished_s)
        self.outcome.append(outcome)
        self.status.append(status)
        self.error.append(error)

    def extend(self, others: "Columns", *, later_by_s: float = 0.0) -> None:
        """Append all of *others*, whose load began *later_by_s* after this one."""
        for name in ("scheduled_s", "sent_s", "finished_s"):
            getattr(self, name).extend(at_s + later_by_s for at_s in getattr(others, name))
        for name in ("outcome", "status", "error"):
            getattr(self, name).extend(getattr(others, name))

    def in_order(self) -> "Columns":
        """Return the same requests in the order in which they finished."""
        order = sorted(range(len(self)), key=self.finished_s.__getitem__)
        return Columns(**{name: [getattr(self, name)[n] for n in order] for name in self.__slots__})

    def chunks(self, size: int) -> Iterator["Columns"]:
        """Yield the requests in order, at most *size* at a time."""
        for start in range(0, len(self), size):
            yield Columns(
                **{name: getattr(self, name)[start : start + size] for name in self.__slots__}
            )

    def to_document(self) -> dict[str, list[Any]]:
        """Return the columns as a JSON-ready document; `Columns(**document)` reads it back."""
        return {name: getattr(self, name) for name in self.__slots__}
