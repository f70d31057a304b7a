"""Sends a load and keeps a sample of each request."""

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol, TypeVar, overload

from loadgen.deadlines import Deadlines
from loadgen.descriptors import allow_many_connections
from loadgen.dispatch import Dispatcher
from loadgen.endings import Endings
from loadgen.load import Load, Open
from loadgen.report import RunReport
from loadgen.samples import Record, Row, Samples
from loadgen.tickets import Schedule, Tickets
from loadgen.watch import Watch


class Results(Protocol):
    """What takes the results of a load: `Samples`, or `Histograms` where those are too many."""

    endings: Endings
    report: RunReport | None

    def record(self, rows: Sequence[Row]) -> None:
        """Take results."""

    def __len__(self) -> int:
        """Return how many results were taken."""


LEAST_S = 1e-3  # of an open load that is cancelled, for a rate

R = TypeVar("R", bound=Results)
OnFinished = Callable[[int], None]


@overload
async def run_load(load: Load, *, on_finished: OnFinished | None = None) -> Samples: ...


@overload
async def run_load(load: Load, *, into: R, on_finished: OnFinished | None = None) -> R: ...


async def run_load(
    load: Load, *, into: Results | None = None, on_finished: OnFinished | None = None
) -> Results:
    """Send the load and return a sample of each request: exactly as many as asked for.

    Args:
        load: what to send.
        into: empty results to fill, for a caller that wants to keep those of a cancelled load, or
            histograms instead of samples.
        on_finished: called after each request with the number finished so far. A caller that has
            no need of each may better look at `len(into)` now and then.

    A request that fails is a result of class `error`; nothing is sent again. Cancelling closes all
    connections and raises; what is in *into* by then, with its report, is right.
    """
    results: Results = Samples() if into is None else into
    record: Record = results.record
    if on_finished is not None:
        record = _telling(record, results, on_finished)
    allow_many_connections()
    dispatcher = Dispatcher(load, record=record, endings=results.endings)
    for pool in dispatcher.pools.values():
        await pool.resolve()
    source = _source(load, dispatcher)
    dispatcher.source = source
    deadlines, watch = Deadlines(load.time_outs, dispatcher), Watch(dispatcher.settle)
    try:
        source.start(dispatcher.submit)
        await dispatcher.done.wait()
    finally:
        if math.isfinite(source.began):  # not so if it was cancelled in its warm-up
            results.report = _report(load, dispatcher, watch, source)
        deadlines.stop()
        watch.stop()
        source.stop()
        await dispatcher.close()
    return results


def _source(load: Load, dispatcher: Dispatcher) -> Tickets | Schedule:
    if isinstance(load.shape, Open):
        return Schedule(load, when_over=dispatcher.check_done)
    return Tickets(load)


def _telling(record: Record, results: Results, on_finished: OnFinished) -> Record:
    def record_and_tell(rows: Sequence[Row]) -> None:
        for row in rows:
            record([row])
            on_finished(len(results))

    return record_and_tell


def _report(
    load: Load, dispatcher: Dispatcher, watch: Watch, source: Tickets | Schedule
) -> RunReport:
    asked = taken = None
    if isinstance(load.shape, Open) and isinstance(source, Schedule):
        planned_s = sum(stage.duration_s for stage in load.shape.stages)
        if not source.is_over:  # it was cancelled
            planned_s = min(planned_s, max(LEAST_S, perf_counter() - source.began))
        asked = source.submitted / planned_s
        taken = source.submitted / max(planned_s, source.last_submitted - source.began)
    lag_p99_ms, lag_max_ms = watch.lags_ms()
    return RunReport(
        began_s=source.began,
        duration_s=watch.duration_s(),
        cpu_share=watch.cpu_share(),
        loop_lag_p99_ms=lag_p99_ms,
        loop_lag_max_ms=lag_max_ms,
        asked_per_s=asked,
        taken_per_s=taken,
        connections=dispatcher.opened,
    )
