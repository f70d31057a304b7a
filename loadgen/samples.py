"""What is kept of each request, in columns of 24 bytes a request in all."""

import base64
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from loadgen.endings import Ending, Endings

if TYPE_CHECKING:
    from loadgen.report import RunReport

_T = TypeVar("_T")
Record = Callable[[float, float, float, float, int, int], None]


class Sample(NamedTuple):
    """One request; times in seconds since the load began.

    `scheduled_s` is when it was due (in a closed load: when its task was free to send it), `sent_s`
    when it was handed to a connection (None: there was none), `finished_s` when the reply's last
    byte or the failure was there, `first_byte_s` when the reply's first byte was (None: never).
    `status` is None where no status line came; `error` is empty unless `outcome` is `error`;
    `request` is the request's place in the load's requests.
    """

    scheduled_s: float
    sent_s: float | None
    finished_s: float
    outcome: str
    status: int | None
    error: str
    request: int = 0
    first_byte_s: float | None = None


class Samples:
    """All samples of one load in the order in which they finished.

    Moments after the scheduled one are kept as single-precision differences to it: right to one
    part in ten million, that is, to 100 ns in a second. Properties are columns as lists, built anew
    each time.

    Attributes:
        report: what the generator saw of itself; None for samples that no engine made.
    """

    _COLUMNS: Mapping[str, str] = {  # name -> type code of its array
        "scheduled": "d",
        "sent_after": "f",
        "first_byte_after": "f",
        "finished_after": "f",
        "ending": "H",
        "request": "H",
    }

    def __init__(self) -> None:
        self.endings = Endings()
        self.report: RunReport | None = None
        self._columns: dict[str, array[Any]] = {
            name: array(code) for name, code in self._COLUMNS.items()
        }
        self._ending = self._columns["ending"]

    def recorder(self) -> Record:
        """Return the function that appends one sample.

        Its arguments: when it was due, in seconds since the load began; seconds from there to its
        sending (NaN: not sent), first byte (NaN: none) and finish; the code of its ending; its
        request.
        """
        scheduled, sent, first_byte, finished, ending, request = (
            self._columns[name].append for name in self._COLUMNS
        )

        def record(  # noqa: PLR0917 - arguments by name would cost a tenth of the call
            due_s: float, sent_s: float, first_s: float, finished_s: float, code: int, number: int
        ) -> None:
            scheduled(due_s)
            sent(sent_s)
            first_byte(first_s)
            finished(finished_s)
            ending(code)
            request(number)

        return record

    def add(self, sample: Sample) -> None:
        """Append one sample."""
        due_s = sample.scheduled_s
        code = self.endings.code(Ending(sample.outcome, sample.status, sample.error))
        sent_s, first_s = (
            math.nan if moment is None else moment - due_s
            for moment in (sample.sent_s, sample.first_byte_s)
        )
        self.recorder()(due_s, sent_s, first_s, sample.finished_s - due_s, code, sample.request)

    def __len__(self) -> int:
        return len(self._ending)

    def __iter__(self) -> Iterator[Sample]:
        endings = list(self.endings)
        for due_s, sent_s, first_s, finished_s, code, request in zip(
            *self._columns.values(), strict=True
        ):
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
            )

    @property
    def scheduled_s(self) -> list[float]:
        """When each request was due."""
        return self._columns["scheduled"].tolist()

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
        pairs = zip(self._columns["scheduled"], self._columns["finished_after"], strict=True)
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
    def request(self) -> list[int]:
        """The place of each request in the load's requests."""
        return self._columns["request"].tolist()

    def count_endings(self, *, since: int = 0) -> Counter[Ending]:
        """Return how many requests ended in each way, those before the sample *since* left out."""
        counts = Counter(self._ending[since:] if since else self._ending)
        endings = list(self.endings)  # at once, as a thread may look while the loop adds to them
        return Counter({end: n for i, end in enumerate(endings) if (n := counts[i])})

    def latencies_s(self, *, outcome: str | None = None) -> "array[float]":
        """Return finished minus scheduled, in seconds, of every sample or those of one class."""
        latencies = self._columns["finished_after"]
        if outcome is None:
            return latencies[:]
        is_of_class = [ending.outcome == outcome for ending in self.endings]
        return array("f", compress(latencies, (is_of_class[code] for code in self._ending)))

    def span_s(self) -> float:
        """Return the seconds from the first scheduled to the last finished; 0 without samples."""
        if not len(self):
            return 0.0
        due, after = self._columns["scheduled"], self._columns["finished_after"]
        last: float = max(map(float.__add__, due, after))
        return last - float(min(due))

    def extend(self, others: "Samples", *, later_s: float = 0.0) -> None:
        """Append all of *others*, whose load began *later_s* seconds after this one's."""
        codes = [self.endings.code(ending) for ending in others.endings]
        for name, column in self._columns.items():
            other = others._columns[name]  # noqa: SLF001 - the same class
            if name == "ending":
                column.extend(codes[code] for code in other)
            elif name == "scheduled" and later_s:
                column.extend(due_s + later_s for due_s in other)
            else:
                column.extend(other)

    def chunks(self, size: int) -> Iterator["Samples"]:
        """Yield the samples in order, at most *size* at a time."""
        for start in range(0, len(self), size):
            chunk = Samples()
            for ending in self.endings:
                chunk.endings.code(ending)
            for name, column in self._columns.items():
                chunk._columns[name].extend(column[start : start + size])
            yield chunk

    def to_document(self) -> dict[str, Any]:
        """Return the samples as a compact JSON-ready document for a process on this machine."""
        return {
            "endings": [list(ending) for ending in self.endings],
            **{name: base64.b64encode(c).decode() for name, c in self._columns.items()},
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Samples":
        """Read `to_document`'s form back."""
        samples = cls()
        for ending in document["endings"]:
            samples.endings.code(Ending(*ending))
        for name, column in samples._columns.items():
            column.frombytes(base64.b64decode(document[name]))
        return samples

    def _moments(self, name: str) -> list[float | None]:
        pairs = zip(self._columns["scheduled"], self._columns[name], strict=True)
        return [_moment(due_s, after_s) for due_s, after_s in pairs]

    def _of_endings(self, values: list[_T]) -> list[_T]:
        return [values[code] for code in self._ending]


def _moment(due_s: float, after_s: float) -> float | None:
    return None if math.isnan(after_s) else due_s + after_s
