"""One CSV row a request: UTF-8, LF, decimal points, empty where there is nothing."""

import csv
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from loadgen.samples import Sample, Samples, Unfinished

SECONDS_DIGITS = 6
UNANSWERED, WAITING = "unanswered", "waiting"  # of a request that had not ended at an interrupt


class RequestsFile:
    """A file of requests, made before anything is sent: nothing that stands is overwritten.

    Attributes:
        failure: why rows could not be written, in words; empty as long as they could. What follows
            is not written either, and the figures of the load are not lost for it.

    Raises:
        ValueError: it is there, or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.failure = ""
        self._path = path
        try:
            self._file = path.open("x", encoding="utf-8", newline="")
        except FileExistsError as failure:
            raise ValueError(f"--csv: {path} is there; name another file") from failure
        except OSError as failure:
            raise ValueError(f"--csv: cannot write {path}: {failure.strerror}") from failure
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(("target", "round", *Sample._fields))

    def add(self, samples: Samples, *, target: str = "A", number: int = 1) -> None:
        """Append the requests of one load; *number* is its round, from 1."""
        if self.failure:
            return
        try:
            self._writer.writerows((target, number, *map(_cell, sample)) for sample in samples)
            self._writer.writerows(
                (target, number, *map(_cell, _row(each))) for each in samples.unfinished
            )
            self._file.flush()
        except OSError as failure:
            self.failure = f"--csv: cannot write {self._path}: {failure.strerror}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # of rows that could not be written: said in `failure`
            self._file.close()


def _row(each: Unfinished) -> tuple[object, ...]:
    """Return a request that had not ended as the columns of a sample."""
    outcome = WAITING if each.sent_s is None else UNANSWERED
    empty = (None,) * 2
    return (each.scheduled_s, each.sent_s, None, outcome, *empty, each.request, *empty)


def _cell(value: object) -> object:
    return round(value, SECONDS_DIGITS) if isinstance(value, float) else value
