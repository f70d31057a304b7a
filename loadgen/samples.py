"""What is kept of each request, in 24 bytes."""

import base64
import math
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, starmap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from loadgen.endings import Ending, Endings

if TYPE_CHECKING:
    from loadgen.report import RunReport

_ROW = struct.Struct("=dfffHH")
_COLUMNS = {  # name -> its type, and its place in a row, in bytes
    "scheduled": ("d", 0),
    "sent_after": ("f", 8),
    "first_byte_after": ("f", 12),
    "finished_after": ("f", 16),
    "ending": ("H", 20),
    "request": ("H", 22),
}
_T = TypeVar("_T")
Row = tuple[float, float, float, float, int, int]
"""When a request was due, in seconds since the load began; seconds from there to its sending (NaN:
not sent), first byte (NaN: none) and finish; the code of its ending; its request."""

Record = Callable[[Sequence[Row]], None]


class Sample(NamedTuple):
    """One request; times in seconds since the load began.

    `scheduled_s` is when it was due (in a closed load: when its task was free to send it), `sent_s`
    when it was handed to a connection (None: there was none), `finished_s` when the reply's last
    byte or the failure was there, `first_byte_s` when the reply's first byte was (None: never).
    `status` is None where no status line came; `error` is empty unless `outcome` is `error` or
    `generator_error`;
    `request` is the request's place in the load's requests; `fault` names the faults that touched
    the reply (its `X-Chaos`).
    """

    scheduled_s: float
    sent_s: float | None
    finished_s: float
    outcome: str
    status: int | None
    error: str
    request: int = 0
    first_byte_s: float | None = None
    fault: str = ""


class Unfinished(NamedTuple):
    """A request that had not ended when its load was stopped; its fields are as in a `Sample`."""

    scheduled_s: float
    sent_s: float | None
    request: int


class Samples:
    """All samples of one load in the order in which they finished.

    Moments after the scheduled one are kept as single-precision differences to it: right to one
    part in ten million, that is, to 100 ns in a second. Properties are columns as lists, built anew
    each time.

    Attributes:
        report: what the generator saw of itself; None for samples that no engine made.
        unfinished: requests that had not ended when the load was stopped; they are no samples.
    """

    def __init__(self) -> None:
        self.endings = Endings()
        self.report: RunReport | None = None
        self.unfinished: list[Unfinished] = []
        # One row after another: a packed row is appended in half the time of six columns.
        self._rows = bytearray()

    def record(self, rows: Iterable[Row]) -> None:
        """Append samples."""
        append = self._rows.extend
        for packed in starmap(_ROW.pack, rows):
            append(packed)

    def leave(self, unfinished: Iterable[Unfinished]) -> None:
        """Take what was stopped before its end."""
        self.unfinished.extend(unfinished)

    def add(self, sample: Sample) -> None:
        """Append one sample."""
        due_s = sample.scheduled_s
        code = self.endings.code(Ending(sample.outcome, sample.status, sample.error, sample.fault))
        sent_s, first_s = (
            math.nan if moment is None else moment - due_s
            for moment in (sample.sent_s, sample.first_byte_s)
        )
        after_s = sample.finished_s - due_s
        self.record([(due_s, sent_s, first_s, after_s, code, sample.request)])

    def __len__(self) -> int:
        return len(self._rows) // _ROW.size

    def __iter__(self) -> Iterator[Sample]:
        endings = list(self.endings)
        for due_s, sent_s, first_s, finished_s, code, request in _ROW.iter_unpack(self._rows):
            ending = endings[code]
            yield Sample(
                due_s,
                _moment(due_s, sent_s),
                due_s + finished_s,
                ending.outcome,
                ending.status,
                ending.error,
                request,
                _moment(due_s, first_s),
                ending.fault,
            )

    @property
    def unanswered(self) -> int:
        """How many requests had been sent and not answered when the load was stopped."""
        return sum(each.sent_s is not None for each in self.unfinished)

    @property
    def waiting(self) -> int:
        """How many requests were due and not sent when the load was stopped."""
        return len(self.unfinished) - self.unanswered

    @property
    def scheduled_s(self) -> list[float]:
        """When each request was due."""
        return list(self._column("scheduled"))

    @property
    def sent_s(self) -> list[float | None]:
        """When each request was sent; None where it was not."""
        return self._moments("sent_after")

    @property
    def first_byte_s(self) -> list[float | None]:
        """When the first byte of each reply came; None where none did."""
        return self._moments("first_byte_after")

    @property
    def finished_s(self) -> list[float]:
        """When each request ended."""
        pairs = zip(self._column("scheduled"), self._column("finished_after"), strict=True)
        return [due_s + after_s for due_s, after_s in pairs]

    @property
    def outcome(self) -> list[str]:
        """The class of each request."""
        return self._of_endings([ending.outcome for ending in self.endings])

    @property
    def status(self) -> list[int | None]:
        """The status of each reply; None where there is none."""
        return self._of_endings([ending.status for ending in self.endings])

    @property
    def error(self) -> list[str]:
        """Why each request is an error; empty where it is none."""
        return self._of_endings([ending.error for ending in self.endings])

    @property
    def fault(self) -> list[str]:
        """The faults that touched each reply, as its `X-Chaos` names them; empty for none."""
        return self._of_endings([ending.fault for ending in self.endings])

    @property
    def request(self) -> list[int]:
        """The place of each request in the load's requests."""
        return list(self._column("request"))

    def count_endings(self, *, since: int = 0) -> Counter[Ending]:
        """Return how many requests ended in each way, those before the sample *since* left out.

        A thread may call it while the event loop goes on recording.
        """
        rows = self._rows[since * _ROW.size :]  # a copy: rows that are looked at cannot grow
        endings = list(self.endings)
        counts = Counter(_column_of(rows, "ending"))
        return Counter({end: n for i, end in enumerate(endings) if (n := counts[i])})

    def latencies_s(self, *, outcome: str | None = None, but: str | None = None) -> "array[float]":
        """Return finished minus scheduled, in seconds.

        Args:
            outcome: only of the samples of this class.
            but: not of those of this class.
        """
        latencies = self._column("finished_after")
        is_meant = [outcome in {None, end.outcome} and end.outcome != but for end in self.endings]
        if all(is_meant):
            return array("f", latencies.tobytes())
        codes = self._column("ending")
        return array("f", compress(latencies, (is_meant[code] for code in codes)))

    def of_request(self, number: int) -> "Samples":
        """Return the samples of the request at that place in the load's requests."""
        chosen = Samples()
        for ending in self.endings:
            chosen.endings.code(ending)
        rows: Iterator[Any] = _ROW.iter_unpack(self._rows)
        chosen.record(row for row in rows if row[-1] == number)
        return chosen

    def span_s(self) -> float:
        """Return the seconds from the first scheduled to the last finished; 0 without samples."""
        if not len(self):
            return 0.0
        due, after = self._column("scheduled"), self._column("finished_after")
        last: float = max(map(float.__add__, due, after))
        return last - float(min(due))

    def extend(self, others: "Samples", *, later_s: float = 0.0) -> None:
        """Append all of *others*, whose load began *later_s* seconds after this one's."""
        self.leave(
            Unfinished(each.scheduled_s + later_s, _later(each.sent_s, later_s), each.request)
            for each in others.unfinished
        )
        codes = [self.endings.code(ending) for ending in others.endings]
        rows = others._rows  # noqa: SLF001 - the same class
        if not later_s and codes == list(range(len(codes))):
            self._rows.extend(rows)
            return
        self.record(
            (due_s + later_s, sent_s, first_s, finished_s, codes[code], request)
            for due_s, sent_s, first_s, finished_s, code, request in _ROW.iter_unpack(rows)
        )

    def chunks(self, size: int) -> Iterator["Samples"]:
        """Yield the samples in order, at most *size* at a time, and so what is unfinished."""
        for start in range(0, max(len(self), len(self.unfinished)), size):
            chunk = Samples()
            for ending in self.endings:
                chunk.endings.code(ending)
            chunk._rows.extend(self._rows[start * _ROW.size : (start + size) * _ROW.size])
            chunk.leave(self.unfinished[start : start + size])
            yield chunk

    def to_document(self) -> dict[str, Any]:
        """Return the samples as a compact JSON-ready document for a process on this machine."""
        return {
            "endings": [list(ending) for ending in self.endings],
            "rows": base64.b64encode(self._rows).decode(),
            "unfinished": [list(each) for each in self.unfinished],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Samples":
        """Read `to_document`'s form back."""
        samples = cls()
        for ending in document["endings"]:
            samples.endings.code(Ending(*ending))
        samples._rows.extend(base64.b64decode(document["rows"]))
        samples.leave(Unfinished(*each) for each in document["unfinished"])
        return samples

    def _moments(self, name: str) -> list[float | None]:
        pairs = zip(self._column("scheduled"), self._column(name), strict=True)
        return [_moment(due_s, after_s) for due_s, after_s in pairs]

    def _of_endings(self, values: list[_T]) -> list[_T]:
        return [values[code] for code in self._column("ending")]

    def _column(self, name: str) -> "memoryview[Any]":
        return _column_of(self._rows, name)


def _column_of(packed_rows: bytearray, name: str) -> "memoryview[Any]":
    code, offset = _COLUMNS[name]
    size = struct.calcsize(code)
    rows: Any = memoryview(packed_rows)
    column: memoryview[Any] = rows.cast(code)[offset // size :: _ROW.size // size]
    return column


def _moment(due_s: float, after_s: float) -> float | None:
    return None if math.isnan(after_s) else due_s + after_s


def _later(moment_s: float | None, by_s: float) -> float | None:
    return None if moment_s is None else moment_s + by_s
