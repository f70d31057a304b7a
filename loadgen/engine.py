"""Sends a load and keeps a sample of each request."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Protocol, TypeVar, overload

from loadgen.deadlines import Deadlines
from loadgen.descriptors import allow_many_connections
from loadgen.dispatch import Dispatcher
from loadgen.endings import Ending, Endings
from loadgen.load import Closed, Load, Open
from loadgen.outcomes import GENERATOR_ERROR
from loadgen.report import RunReport
from loadgen.samples import Record, Row, Samples, Unfinished
from loadgen.tickets import Schedule, Tickets
from loadgen.watch import Watch


class Results(Protocol):
    """What takes the results of a load: `Samples`, or `Histograms` where those are too many."""

    endings: Endings
    report: RunReport | None

    def record(self, rows: Sequence[Row]) -> None:
        """Take results."""

    def leave(self, unfinished: Iterable[Unfinished]) -> None:
        """Take what had not ended when the load was stopped."""

    def count_endings(self) -> Counter[Ending]:
        """Return how many requests ended in each way."""

    def __len__(self) -> int:
        """Return how many results were taken."""


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
    connections and raises; what is in *into* by then, with its report and with what was under way,
    is right. There is no report if that was in the warm-up.
    """
    results: Results = Samples() if into is None else into
    record: Record = results.record
    if on_finished is not None:
        record = _telling(record, results, on_finished)
    allow_many_connections()
    dispatcher = Dispatcher(load, record=record, endings=results.endings)
    for pool in dispatcher.pools.values():
        await pool.resolve()
    watch = Watch(
        ended=lambda: _settled(dispatcher, results), since=lambda: dispatcher.source.began
    )
    source = dispatcher.source = _source(load, dispatcher)
    deadlines = Deadlines(load.time_outs, dispatcher)
    try:
        source.start(dispatcher.submit)
        await dispatcher.done.wait()
    finally:
        watch.stop()
        if perf_counter() >= source.began:  # not so if it was cancelled in its warm-up
            results.report = _report(load, results, dispatcher, watch)
            results.leave(dispatcher.unfinished())
        deadlines.stop()
        source.stop()
        await dispatcher.close()
    return results


def _settled(dispatcher: Dispatcher, results: Results) -> int:
    dispatcher.settle()
    return len(results)


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


def _report(load: Load, results: Results, dispatcher: Dispatcher, watch: Watch) -> RunReport:
    log, source = watch.log, dispatcher.source
    measured_s = perf_counter() - source.began
    report = RunReport(
        began_s=source.began,
        duration_s=watch.duration_s(),
        cpu_share=watch.cpu_share(),
        loop_lag_p99_ms=1000 * log.percentile_s(0.99, over_s=measured_s),
        loop_lag_max_ms=1000 * log.longest_s,
        asked_per_s=None,
        taken_per_s=None,
        connections=dispatcher.opened,
        requests=len(results),
        stalls=log.stalls,
        stalled_s=log.stalled_s,
        stalled_share=log.stalled_s / measured_s if log.stalls else 0.0,
        unsent=_unsent(results),
    )
    if isinstance(source, Schedule):
        return _of_schedule(report, source, dispatcher)
    assert isinstance(load.shape, Closed)  # noqa: S101 - as its source is
    return replace(report, held_up=log.held_up_of(load.shape.tasks, measured_s, len(results)))


def _unsent(results: Results) -> dict[str, int]:
    if all(ending.outcome != GENERATOR_ERROR for ending in results.endings):
        return {}  # without counting millions
    counts = results.count_endings().items()
    return {end.error: count for end, count in counts if end.outcome == GENERATOR_ERROR}


def _of_schedule(report: RunReport, source: Schedule, dispatcher: Dispatcher) -> RunReport:
    scheduled_s = source.scheduled_s
    taken_s = max(scheduled_s, source.last_submitted - source.began)
    return replace(
        report,
        asked_per_s=source.submitted / scheduled_s if scheduled_s else 0.0,
        taken_per_s=source.submitted / taken_s if taken_s else 0.0,
        scheduled_s=scheduled_s,
        held_up=source.late,
        queued=dispatcher.queued,
    )
