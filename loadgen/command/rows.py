"""One CSV row a request: UTF-8, LF, decimal points, empty where there is nothing."""

import csv
from pathlib import Path
from types import TracebackType
from typing import Self

from loadgen.samples import Sample, Samples

SECONDS_DIGITS = 6


class RequestsFile:
    """A file of requests, made before anything is sent: nothing that stands is overwritten.

    Raises:
        ValueError: it is there, or cannot be made.
    """

    def __init__(self, path: Path) -> None:
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
        self._writer.writerows((target, number, *map(_cell, sample)) for sample in samples)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def _cell(value: object) -> object:
    return round(value, SECONDS_DIGITS) if isinstance(value, float) else value
