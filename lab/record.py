"""The result folder: one row a run and a request, on disk as soon as the run has ended.

    manifest.json     what was run, with what, on what; rewritten when the run ends
    runs.csv          one row a run, appended and synced
    requests.csv.gz   one row a request; each run is a gzip member of its own, appended and synced
    events.jsonl      what the lab did and when
    logs/             one file a service

A timeline has a row a phase in `runs.csv`, and one for the whole run.

Files are UTF-8 with LF and decimal points; empty means not available; units are in the names.
"""

import csv
import gzip
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lab.errors import UsageError
from lab.spec.expectations import REQUEST_FIGURES
from loadgen import Sample, Samples, Summary

SAMPLE_COLUMNS = Sample._fields[:6]  # up to `error`; `request` is the row's number in its run
# `fault` is the condition that was on, `x_chaos` what the reply says has hit it.
REQUEST_COLUMNS = ("fault", "client", "repeat", "request", *SAMPLE_COLUMNS, "name", "x_chaos")
SECONDS_DIGITS = 6
FIGURE_DIGITS = 3
RATIO_DIGITS = 9  # of what is not a time: one attempt for ten million requests is not none


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One measured load of a cell.

    `note` is empty for a run that counts; otherwise it says why it does not.
    """

    started: datetime
    fault: str
    client: str
    repeat: int  # from 1
    tasks: int | None  # None for an open load
    rate_per_s: float | None = None  # that was asked for; None for a closed load
    summary: Summary
    mix: Mapping[str, Summary | None] = field(  # each request's own; None if it was not sent
        default_factory=lambda: MappingProxyType({})
    )
    attempts: int | None
    touched: Mapping[str, float | None] = field(  # by column: what each of its faults did
        default_factory=lambda: MappingProxyType({})
    )
    note: str = ""

    def values(self) -> dict[str, object]:
        """Return the row of `runs.csv`, by column, in the file's order."""
        summary = self.summary
        per_request = None if self.attempts is None else self.attempts / summary.requests
        return {
            "started_utc": self.started.isoformat(timespec="milliseconds"),
            "fault": self.fault,
            "client": self.client,
            "repeat": self.repeat,
            "requests": summary.requests,
            "tasks": self.tasks,
            "asked_per_s": self.rate_per_s,
            **summary.counts,
            "mean_ms": rounded(summary.mean_ms),
            "p50_ms": rounded(summary.p50_ms),
            "p95_ms": rounded(summary.p95_ms),
            "p99_ms": rounded(summary.p99_ms),
            "max_ms": rounded(summary.max_ms),
            "requests_per_s": rounded(summary.requests_per_s, RATIO_DIGITS),
            "duration_s": rounded(summary.duration_s),
            "attempts": self.attempts,
            "attempts_per_request": rounded(per_request, RATIO_DIGITS),
            **{name: rounded(value, RATIO_DIGITS) for name, value in self.touched.items()},
            **self._mix_values(),
            "note": self.note,
        }

    def _mix_values(self) -> dict[str, object]:
        values: dict[str, object] = {}
        for name, summary in self.mix.items():
            figures: dict[str, object] = dict.fromkeys(("requests", *self.summary.counts), 0)
            figures |= dict.fromkeys(REQUEST_FIGURES)
            if summary is not None:
                figures |= {"requests": summary.requests, **summary.counts}
                figures |= {each: rounded(getattr(summary, each)) for each in REQUEST_FIGURES}
            values |= {f"{name}.{figure}": value for figure, value in figures.items()}
        return values


class ResultFolder:
    """Writes one run of an experiment; nothing that stands is ever overwritten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs = path / "logs"

    @classmethod
    def create(cls, out: Path, experiment: str, now: datetime) -> "ResultFolder":
        """Make `out/<experiment>/<UTC stamp>/` and let `latest` beside it point there.

        Raises:
            UsageError: the folder cannot be written.
        """
        stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        parent = out / (experiment.lstrip(".") or "experiment")  # "..": it stays inside
        try:
            path = _make_new(parent, stamp)
            (path / "logs").mkdir()
            _point(parent / "latest", path.name)
        except OSError as failure:
            raise UsageError(
                f"cannot write results to {out}: {failure.strerror}; choose another with --out"
            ) from failure
        return cls(path)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write or replace the manifest, whole."""
        temporary = self.path / "manifest.json.new"
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        temporary.write_bytes(text.encode(errors="backslashreplace"))  # file names can be any bytes
        temporary.replace(self.path / "manifest.json")

    def add_event(self, event: str, **fields: object) -> None:
        """Append one line to the journal."""
        entry = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event}
        line = json.dumps(entry | fields, ensure_ascii=False) + "\n"
        with (self.path / "events.jsonl").open("ab") as file:
            file.write(line.encode(errors="backslashreplace"))

    def add_run(self, row: RunRow, samples: Samples) -> None:
        """Append a finished run: its requests first, so that a row always has its requests."""
        self.add_requests((row.fault, row.client, row.repeat), samples, names=tuple(row.mix))
        self.add_rows([row.values()])

    def add_requests(
        self, key: tuple[str, str, int], samples: Samples, *, names: Sequence[str] = ()
    ) -> None:
        """Append the samples of one fault, client and repeat; *names* are those of its mix."""
        path = self.path / "requests.csv.gz"
        requests = _request_rows(key, samples, names, header=not path.exists())
        _append_synced(path, gzip.compress(_csv(requests)))

    def add_rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows of `runs.csv`, at least one, each with the same columns."""
        path = self.path / "runs.csv"
        header = [] if path.exists() else [list(rows[0])]
        _append_synced(path, _csv([*header, *(list(row.values()) for row in rows)]))

    @property
    def has_runs(self) -> bool:
        """Whether at least one run has been recorded."""
        return (self.path / "runs.csv").exists()


def _request_rows(
    key: tuple[str, str, int], samples: Samples, names: Sequence[str], *, header: bool
) -> Iterable[Sequence[object]]:
    if header:
        yield REQUEST_COLUMNS
    for number, sample in enumerate(samples, start=1):
        times = [rounded(moment, SECONDS_DIGITS) for moment in sample[:3]]
        ending = sample[3 : len(SAMPLE_COLUMNS)]
        name = names[sample.request] if names else ""
        yield (*key, number, *times, *ending, name, sample.fault)


def rounded(value: float | None, digits: int = FIGURE_DIGITS) -> float | None:
    """Return a figure with as many digits as a file has."""
    return None if value is None else round(value, digits)


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _append_synced(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_new(parent: Path, stamp: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    for ending in ("", *(f"-{number}" for number in range(2, 1000))):
        with suppress(FileExistsError):
            path = parent / (stamp + ending)
            path.mkdir()
            return path
    raise FileExistsError(17, f"{parent / stamp} and 998 others exist")


def _point(link: Path, target: str) -> None:
    temporary = link.with_name(f".latest-{target}")
    temporary.symlink_to(target)
    temporary.replace(link)
