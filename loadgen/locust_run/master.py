"""The master's part of a run: hands the samples on, and ends the run when all have come.

It writes JSON lines to the file descriptor in `--results-fd`:

    {"finished": n}                             now and then
    {"samples": {...}, "began_s": s}            as often as it takes; s: the wall clock at their 0
    {"done": {"requests": n, "failures": m}}    the end, with Locust's own counts; or
    {"error": "..."}                            the run is void
"""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.runners import MasterRunner

SAMPLES, DONE, FAILED = "lab_samples", "lab_done", "lab_failed"  # messages of a worker
_LOOK_EVERY_S = 0.5
_STATS_WITHIN_S = 15.0


class Master:
    """Hands the samples on as they come, and ends the run when the last worker is done."""

    def __init__(self, environment: "Environment", runner: "MasterRunner") -> None:
        options: Any = environment.parsed_options
        options.load_document = json.loads(Path(options.load_file).read_text(encoding="utf-8"))
        self._requests: int = options.load_document["requests"]
        self._workers: int = options.expect_workers
        self._results = os.fdopen(options.results_fd, "w", encoding="utf-8")
        self._environment = environment
        self._runner = runner
        self._done = 0
        runner.register_message(SAMPLES, lambda msg, **_: self._write(msg.data))
        runner.register_message(DONE, lambda **_: self._count_done())
        runner.register_message(FAILED, lambda msg, **_: self._write(msg.data))

    def _count_done(self) -> None:
        self._done += 1

    def accompany(self) -> None:
        """Report progress until all workers are done, then Locust's own counts."""
        while self._done < self._workers:
            self._write({"finished": self._runner.stats.total.num_requests})
            gevent.sleep(_LOOK_EVERY_S)
            if self._done < self._workers and self._runner.worker_count < self._workers:
                self._write({"error": "a worker went missing in mid-load; run it again"})
                return
        self._await_stats()
        total = self._runner.stats.total
        self._write({"done": {"requests": total.num_requests, "failures": total.num_failures}})
        self._environment.process_exit_code = 0
        gevent.spawn(self._runner.quit)

    def _await_stats(self) -> None:
        """Give the workers' last reports time; what is missing then shows in the counts."""
        deadline_s = time.monotonic() + _STATS_WITHIN_S
        while self._runner.stats.total.num_requests < self._requests:
            if time.monotonic() > deadline_s:
                return
            gevent.sleep(_LOOK_EVERY_S / 10)

    def _write(self, message: object) -> None:
        self._results.write(json.dumps(message) + "\n")
        self._results.flush()
