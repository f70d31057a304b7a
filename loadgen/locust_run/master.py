"""The master's part: sends one load after another, and hands the samples on.

It reads a load a line (`Load.to_document`) from its standard input, whose end ends it and its
workers, and writes JSON lines to the file descriptor in `--results-fd`:

    {"ready": true}                             once all workers have come
    {"finished": n}                             now and then, in a load
    {"samples": {...}, "began_s": s}            as often as it takes; s: the wall clock at their 0
    {"done": {"requests": n, "failures": m}, "reports": [...]}
                                                the end of a load, with Locust's own counts and what
                                                each worker saw of itself (`RunReport`); or
    {"error": "..."}                            the load is void, and the master of no more use
"""

import json
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gevent  # type: ignore[import-untyped]
import gevent.os  # type: ignore[import-untyped]
from gevent.queue import Queue  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.runners import MasterRunner

SAMPLES, DONE, FAILED = "lab_samples", "lab_done", "lab_failed"  # messages of a worker
_LOOK_EVERY_S = 0.02
_TELL_EVERY_S = 0.25
_STATS_WITHIN_S = 15.0
_QUIET_WITHIN_S = 5.0


class Master:
    """Sends loads for as long as some come."""

    def __init__(self, environment: "Environment", runner: "MasterRunner") -> None:
        options: Any = environment.parsed_options
        self._options = options
        self._workers: int = options.expect_workers
        self._results = os.fdopen(options.results_fd, "w", encoding="utf-8")
        self._runner = runner
        self._done = 0
        self._reports: list[object] = []
        self._loads: Queue[bytes] = Queue()
        runner.register_message(SAMPLES, lambda msg, **_: self._write(msg.data))
        runner.register_message(DONE, lambda msg, **_: self._count_done(msg.data))
        runner.register_message(FAILED, lambda msg, **_: self._write(msg.data))

    def serve(self) -> None:
        """Send each load that comes; never returns."""
        gevent.spawn(self._read_loads)
        if not self._wait_for(self._all_are_ready, within_s=self._options.connect_s):
            came = len(self._runner.clients.ready)
            self._write(
                {"error": f"{came} of {self._workers} workers came in {self._options.connect_s} s"}
            )
        else:
            self._write({"ready": True})
        while True:
            self._send(json.loads(self._loads.get()))

    def _send(self, document: dict[str, Any]) -> None:
        self._done = 0
        self._reports.clear()
        self._options.load_document = document
        tasks: int = document["shape"]["closed"]["tasks"]
        self._wait_for(self._all_are_ready, within_s=_QUIET_WITHIN_S)
        self._runner.start(tasks, spawn_rate=tasks)
        if not self._accompany():
            self._write({"error": "a worker went missing in mid-load; run it again"})
            return
        total = self._runner.stats.total
        # What is missing then shows in the counts.
        requests: int = document["shape"]["closed"]["requests"]
        self._wait_for(lambda: total.num_requests >= requests, within_s=_STATS_WITHIN_S)
        counted = {"requests": total.num_requests, "failures": total.num_failures}
        self._write({"done": counted, "reports": self._reports})
        # Stopping waits a whole second for users that it believes to be running.
        self._wait_for(lambda: self._runner.user_count == 0, within_s=_QUIET_WITHIN_S)
        self._runner.stop()

    def _accompany(self) -> bool:
        """Report progress until all workers are done; tell whether all stayed."""
        told_s = 0.0
        while self._done < self._workers:
            if time.monotonic() - told_s >= _TELL_EVERY_S:
                told_s = time.monotonic()
                self._write({"finished": self._runner.stats.total.num_requests})
            gevent.sleep(_LOOK_EVERY_S)
            if self._done < self._workers and self._runner.worker_count < self._workers:
                return False
        return True

    def _all_are_ready(self) -> bool:
        return len(self._runner.clients.ready) >= self._workers

    def _count_done(self, data: dict[str, Any]) -> None:
        self._done += 1
        if data["report"] is not None:
            self._reports.append(data["report"])

    def _wait_for(self, holds: Callable[[], bool], *, within_s: float) -> bool:
        deadline_s = time.monotonic() + within_s
        while not holds():
            if time.monotonic() > deadline_s:
                return False
            gevent.sleep(_LOOK_EVERY_S)
        return True

    def _read_loads(self) -> None:
        pending = b""
        for received in standard_input():
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                self._loads.put(line)
        self._runner.quit()  # ends the workers elsewhere, in mid-load too
        os._exit(0)

    def _write(self, message: object) -> None:
        self._results.write(json.dumps(message) + "\n")
        self._results.flush()


def standard_input() -> Any:  # noqa: ANN401 - gevent has no types
    """Yield what comes on the standard input until its end, and let other greenlets run."""
    gevent.os.make_nonblocking(0)
    return iter(lambda: gevent.os.nb_read(0, 65536), b"")
