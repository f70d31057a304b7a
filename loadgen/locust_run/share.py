"""One worker's part of a load: its tickets, its samples, and how late it was itself.

Latencies are taken by greenlets that share one thread. So a worker that stands still is late with
all of them, and sees it by a greenlet that only looks at the clock.
"""

import time
from itertools import cycle

import gevent  # type: ignore[import-untyped]

from loadgen.load import Closed, Load
from loadgen.locust_replies import Judge
from loadgen.outcomes import GENERATOR_ERROR
from loadgen.report import RunReport
from loadgen.samples import Sample, Samples
from loadgen.split import split_load
from loadgen.turns import weighted_turns
from loadgen.watch import LOOK_EVERY_S, LagLog


class Share:
    """A worker's part of a load: the tickets left and the samples so far.

    Args:
        load: with the requests and the bodies of this part.
        tickets: of this part.
        tasks: that take them.
    """

    def __init__(self, load: Load, *, tickets: int, tasks: int) -> None:
        self.load = load
        self.judge = Judge(load.outcome)
        self.samples = Samples()
        self.began_wall_s = time.time()
        self.tickets = tickets
        self._tasks = tasks
        self._began = time.perf_counter()
        self._first_taken = float("inf")  # users take their time to start, which is not measured
        self._log = LagLog()
        self._expected = self._began
        self._left = iter(range(tickets))
        self._turns = weighted_turns([request.weight for request in load.requests])
        self._bodies = [cycle(request.bodies or (request.body,)) for request in load.requests]

    @property
    def is_over(self) -> bool:
        """Whether all of it has ended."""
        return len(self.samples) == self.tickets

    def take_ticket(self) -> tuple[int, str | None] | None:
        """Return which request to send, with which body; None if none is left."""
        if next(self._left, None) is None:
            return None
        self._first_taken = min(self._first_taken, time.perf_counter())
        number = next(self._turns)
        return number, next(self._bodies[number])

    def now_s(self) -> float:
        """Return the time since this worker began."""
        return time.perf_counter() - self._began

    def add(self, sample: Sample) -> bool:
        """Keep *sample*; tell whether it was the last."""
        self.samples.add(sample)
        return self.is_over

    def watch(self) -> None:
        """Note how late looks at the clock are, until all of it has ended."""
        while not self.is_over:
            self._expected = time.perf_counter() + LOOK_EVERY_S
            gevent.sleep(LOOK_EVERY_S)
            self._look(time.perf_counter())

    def report(self) -> RunReport:
        """Return what this worker saw of itself, once all of it has ended."""
        now = time.perf_counter()
        self._look(now)
        log, measured_s = self._log, now - self._first_taken
        endings = self.samples.count_endings().items()
        return RunReport(
            began_s=self._first_taken,
            duration_s=measured_s,
            cpu_share=None,
            loop_lag_p99_ms=1000 * log.percentile_s(0.99, over_s=measured_s),
            loop_lag_max_ms=1000 * log.longest_s,
            asked_per_s=None,
            taken_per_s=None,
            connections=None,
            requests=len(self.samples),
            stalls=log.stalls,
            stalled_s=log.stalled_s,
            stalled_share=log.stalled_share(over_s=measured_s),
            held_up=log.held_up_of(self._tasks, measured_s, len(self.samples)),
            unsent={end.error: n for end, n in endings if end.outcome == GENERATOR_ERROR},
        )

    def _look(self, now: float) -> None:
        expected = min(now, self._expected)
        self._log.add(expected=expected, now=now, since=self._first_taken, ended=len(self.samples))
        self._expected = now + LOOK_EVERY_S


def share_of(load: Load, *, place: int, parts: int) -> Share:
    """Return one worker's part of the load, without tickets if the worker is one too many."""
    split = split_load(load, parts)
    if place < len(split) and isinstance(shape := split[place].shape, Closed):
        return Share(split[place], tickets=shape.requests or 0, tasks=shape.tasks)
    return Share(load, tickets=0, tasks=0)
