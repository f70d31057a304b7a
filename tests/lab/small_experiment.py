"""A small experiment on the real rates service, and the lab as a process."""

import csv
import gzip
import io
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

SYSTEM = """\
services:
  rates:
    run: "{python} -m rates_api --port {port}"
    ready: /health
    chaos: /chaos
    env: {CHAOS_ENABLED: "true"}
    inherit: [LAB_TEST_MARK]
    attempts: {path: /stats, json: received}
"""

EXPERIMENT = """\
title: The rates service alone
system: system.yaml
load: {request: "GET {rates.url}/rates/USD", requests: 40, tasks: 4, timeout: 300ms}
outcome: {json: code, classes: [USD]}
clients: {direct: {}}
warmup: 1
repeats: 2
faults:
  none: []
  half fail: [{chaos: rates, failure: 0.5}]
  slow: [{chaos: rates, delay: 20ms}]
  paused: [{pause: rates}]
  stopped: [{stop: rates}]
  killed: [{kill: rates}]
override:
  - {fault: paused, requests: 8}
"""


def write_experiment(folder: Path, experiment: str = EXPERIMENT, system: str = SYSTEM) -> Path:
    (folder / "system.yaml").write_text(system)
    path = folder / "small.yaml"
    path.write_text(experiment)
    return path


class LabProcess:
    """`python -m lab …` with a mark in its environment that all its descendants inherit."""

    def __init__(self, *arguments: str | Path, **extra: str) -> None:
        self.mark = f"LAB_TEST_MARK={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        without_redis = {key: val for key, val in os.environ.items() if key != "REDIS_URL"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab", *map(str, arguments)],
            env=without_redis | {name: value} | extra,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, timeout_s: float = 150) -> subprocess.CompletedProcess[str]:
        """Wait for its end, however slow the machine, and return what it printed."""
        try:
            out, err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:  # it hangs; leave nothing to the next test
            self.process.kill()
            self.process.communicate()
            raise
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, out, err)

    def wait_for(self, event: str, latest: Path, within_s: float = 90) -> None:
        """Wait until the journal of the run that `latest` points to has *event*."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if (latest / "events.jsonl").exists() and event in (
                latest / "events.jsonl"
            ).read_text():
                return
            time.sleep(0.02)
        raise AssertionError(f"no {event} within {within_s} s")

    def find(self, words: str) -> int:
        """Return the pid of the one marked process whose command line has *words*."""
        [pid] = [
            int(process.name)
            for process in Path("/proc").iterdir()
            if process.name.isdecimal()
            and self._is_marked(process)
            and words in command_line(process)
        ]
        return pid

    def survivors_after(self, within_s: float) -> list[str]:
        """Return what is still there after at most *within_s* seconds."""
        deadline = time.monotonic() + within_s
        while (left := self.survivors()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def survivors(self) -> list[str]:
        """Return the command lines of all processes that carry the mark and are no zombies."""
        found = [
            command_line(process)
            for process in Path("/proc").iterdir()
            if process.name.isdecimal() and self._is_marked(process)
        ]
        return [line for line in found if line]

    def _is_marked(self, process: Path) -> bool:
        try:
            return self.mark.encode() in (process / "environ").read_bytes()
        except OSError:  # it ended meanwhile
            return False


def command_line(process: Path) -> str:
    """Return the words of a process by its folder in /proc; empty: it ended meanwhile."""
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def run_lab(*arguments: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return LabProcess(*arguments, **extra).finish()


def rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV file, gzipped or not."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return list(csv.DictReader(io.StringIO(text.decode())))
