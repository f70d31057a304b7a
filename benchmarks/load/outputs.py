"""What the tools print, read: pure."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.load.reading import Reading

Parse = Callable[[str, Path], Reading]  # standard output, and the folder the tool ran in
AB_PERCENTILES = "percentiles.csv"
_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


def python_client(output: str, _: Path) -> Reading:
    """Read what our own clients print."""
    return Reading.from_line(output)


def wrk(output: str, _: Path) -> Reading:
    """Read `wrk --latency`."""
    if "errors" in output or "Non-2xx" in output:
        raise ValueError(f"wrk had errors; look at the server:\n{output}")
    requests, duration, unit = _found(r"(\d+) requests in ([\d.]+)(us|ms|s)", output)
    return Reading(
        requests=int(requests),
        duration_s=_us(duration, unit) / 1e6,
        p50_us=_us(*_found(r"50%\s+([\d.]+)(us|ms|s)", output)),
        p99_us=_us(*_found(r"99%\s+([\d.]+)(us|ms|s)", output)),
    )


def hey(output: str, _: Path) -> Reading:
    """Read hey's summary, whose latencies have four decimals of a second."""
    return Reading(
        requests=int(*_found(r"\[200\]\s+(\d+) responses", output)),
        duration_s=float(*_found(r"Total:\s+([\d.]+) secs", output)),
        p50_us=float(*_found(r"50%+ in ([\d.]+) secs", output)) * 1e6,
        p99_us=float(*_found(r"99%+ in ([\d.]+) secs", output)) * 1e6,
    )


def ab(output: str, folder: Path) -> Reading:
    """Read ab's summary, and the percentiles that `-e` wrote: finer than the printed ones."""
    failed = int(*_found(r"Failed requests:\s+(\d+)", output))
    with (folder / AB_PERCENTILES).open(newline="") as file:
        taken_ms = {row[0]: float(row[1]) for row in csv.reader(file) if row[0].isdigit()}
    return Reading(
        requests=int(*_found(r"Complete requests:\s+(\d+)", output)) - failed,
        duration_s=float(*_found(r"Time taken for tests:\s+([\d.]+) seconds", output)),
        p50_us=taken_ms["50"] * 1e3,
        p99_us=taken_ms["99"] * 1e3,
    )


def autocannon(output: str, _: Path) -> Reading:
    """Read `autocannon --json`, whose latencies are whole milliseconds."""
    document = json.loads(output)
    return Reading(
        requests=document["2xx"],
        duration_s=document["duration"],
        p50_us=document["latency"]["p50"] * 1e3,
        p99_us=document["latency"]["p99"] * 1e3,
    )


def _us(number: str, unit: str) -> float:
    return float(number) * _UNITS_US[unit]


def _found(pattern: str, output: str) -> tuple[str, ...]:
    match = re.search(pattern, output)
    if match is None:
        raise ValueError(f"the output has nothing like {pattern!r}; it is:\n{output}")
    return match.groups()
