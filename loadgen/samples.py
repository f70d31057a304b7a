"""What is kept of each request, in columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """One request; times in seconds since the load began.

    `scheduled_s` is when it was due (in a closed load: when its task was free to send it), `sent_s`
    when its head was handed to a connection (None: there was none), `finished_s` when the reply's
    last byte or the failure was there. `status` is None where no status line came; `error` is empty
    unless `outcome` is `error`.
    """

    scheduled_s: float
    sent_s: float | None
    finished_s: float
    outcome: str
    status: int | None
    error: str


@dataclass(slots=True)
class Samples:
    """All samples of one load in the order in which they finished, a list a column."""

    scheduled_s: list[float] = field(default_factory=list)
    sent_s: list[float | None] = field(default_factory=list)
    finished_s: list[float] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    status: list[int | None] = field(default_factory=list)
    error: list[str] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        """Append one sample."""
        for name, value in zip(Sample._fields, sample, strict=True):
            getattr(self, name).append(value)

    def __len__(self) -> int:
        return len(self.outcome)

    def __iter__(self) -> Iterator[Sample]:
        columns = (getattr(self, name) for name in Sample._fields)
        return (Sample(*row) for row in zip(*columns, strict=True))

    def extend(self, others: "Samples") -> None:
        """Append all of *others*."""
        for name in Sample._fields:
            getattr(self, name).extend(getattr(others, name))

    def chunks(self, size: int) -> Iterator["Samples"]:
        """Yield the samples in order, at most *size* at a time."""
        for start in range(0, len(self), size):
            columns = {name: getattr(self, name)[start : start + size] for name in Sample._fields}
            yield Samples(**columns)

    def latencies_s(self) -> list[float]:
        """Return finished minus scheduled of every sample, in seconds: what a user waits."""
        return [
            finished - scheduled
            for scheduled, finished in zip(self.scheduled_s, self.finished_s, strict=True)
        ]

    def to_document(self) -> dict[str, list[Any]]:
        """Return the columns as a JSON-ready document; `Samples(**document)` reads it back."""
        return {name: getattr(self, name) for name in Sample._fields}
