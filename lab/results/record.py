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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.errors import UsageError
from lab.results.figures import Figures, figure_names
from lab.results.outline import Outline
from loadgen import Sample, Samples

SAMPLE_COLUMNS = Sample._fields[:6]  # up to `error`; `request` is the row's number in its run
# `fault` is the condition that was on, `x_chaos` what the reply says has hit it.
_RUN_COLUMNS = ("started_utc", "fault", "client", "repeat")  # then figures, then the note
REQUEST_COLUMNS = ("fault", "client", "repeat", "request", *SAMPLE_COLUMNS, "name", "x_chaos")
SECONDS_DIGITS = 6
TIME_DIGITS = 3
RATIO_DIGITS = 9  # of what is not a time: one attempt for ten million requests is not none


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run of a cell."""

    started: datetime
    client: str
    repeat: int  # from 1
    note: str = ""  # why it does not count; empty if it does


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

    def add_run(
        self,
        run: Run,
        outline: Outline,
        rows: Mapping[str, Figures],
        samples: Mapping[str, Samples],
    ) -> None:
        """Append a finished run: its requests first, so that a row always has its requests.

        Args:
            run: which.
            outline: of its experiment.
            rows: figures by row.
            samples: by row; those of a part of the run each.
        """
        for row, part in samples.items():
            key = (row, run.client, run.repeat)
            path = self.path / "requests.csv.gz"
            requests = _request_rows(key, part, outline.requests, header=not path.exists())
            _append_synced(path, gzip.compress(_csv(requests)))
        figures = figure_names(outline)
        path = self.path / "runs.csv"
        header = [] if path.exists() else [[*_RUN_COLUMNS, *figures, "note"]]
        lines = [
            _run_row(run, row, [found.get(name) for name in figures], figures)
            for row, found in rows.items()
        ]
        _append_synced(path, _csv([*header, *lines]))

    def manifest(self) -> dict[str, Any]:
        """Return the manifest as it is on disk.

        Raises:
            UsageError: there is none, or it is damaged.
        """
        try:
            manifest: dict[str, Any] = json.loads((self.path / "manifest.json").read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self.path} is no result of a run ({error}); name a folder with manifest.json"
            ) from error
        return manifest

    def has_event(self, event: str) -> bool:
        """Tell whether the journal has such an event."""
        path = self.path / "events.jsonl"
        if not path.exists():
            return False
        with path.open("rb") as file:
            return any(json.loads(line).get("event") == event for line in file)

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
        times = [None if each is None else round(each, SECONDS_DIGITS) for each in sample[:3]]
        ending = sample[3 : len(SAMPLE_COLUMNS)]
        name = names[sample.request] if names else ""
        yield (*key, number, *times, *ending, name, sample.fault)


def _run_row(
    run: Run, row: str, values: Sequence[float | None], figures: Sequence[str]
) -> list[object]:
    started = run.started.isoformat(timespec="milliseconds")
    told = [_in_file(name, value) for name, value in zip(figures, values, strict=True)]
    return [started, row, run.client, run.repeat, *told, run.note]


def _in_file(figure: str, value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, TIME_DIGITS if figure.endswith(("_ms", "duration_s")) else RATIO_DIGITS)


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
