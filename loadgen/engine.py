"""Sends a load and keeps a sample of each request."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from loadgen.deadlines import Deadlines
from loadgen.descriptors import allow_many_connections
from loadgen.dispatch import Dispatcher
from loadgen.load import Closed, Load, Open
from loadgen.outcomes import GENERATOR_ERROR
from loadgen.report import RunReport
from loadgen.samples import Record, Row, Samples
from loadgen.tickets import Schedule, Tickets
from loadgen.watch import Watch

OnFinished = Callable[[int], None]


async def run_load(
    load: Load, *, into: Samples | None = None, on_finished: OnFinished | None = None
) -> Samples:
    """Send the load and return a sample of each request: exactly as many as asked for.

    Args:
        load: what to send.
        into: empty samples to fill, for a caller that wants to keep those of a cancelled load.
        on_finished: called after each request with the number finished so far. A caller that has
            no need of each may better look at `len(into)` now and then.

    A request that fails is a result of class `error`; nothing is sent again. Cancelling closes all
    connections and raises; what is in *into* by then, with its report and with what was under way,
    is right. There is no report if that was in the warm-up.
    """
    samples = Samples() if into is None else into
    record: Record = samples.record
    if on_finished is not None:
        record = _telling(record, samples, on_finished)
    allow_many_connections()
    dispatcher = Dispatcher(load, record=record, endings=samples.endings)
    for pool in dispatcher.pools.values():
        await pool.resolve()
    watch = Watch(
        ended=lambda: _settled(dispatcher, samples), since=lambda: dispatcher.source.began
    )
    source = dispatcher.source = _source(load, dispatcher)
    deadlines = Deadlines(load.time_outs, dispatcher)
    try:
        source.start(dispatcher.submit)
        await dispatcher.done.wait()
    finally:
        watch.stop()
        if perf_counter() >= source.began:  # not so if it was cancelled in its warm-up
            samples.report = _report(load, samples, dispatcher, watch)
            samples.leave(dispatcher.unfinished())
        deadlines.stop()
        source.stop()
        await dispatcher.close()
    return samples


def _settled(dispatcher: Dispatcher, samples: Samples) -> int:
    dispatcher.settle()
    return len(samples)


def _source(load: Load, dispatcher: Dispatcher) -> Tickets | Schedule:
    if isinstance(load.shape, Open):
        return Schedule(load, when_over=dispatcher.check_done)
    return Tickets(load)


def _telling(record: Record, samples: Samples, on_finished: OnFinished) -> Record:
    def record_and_tell(rows: Sequence[Row]) -> None:
        for row in rows:
            record([row])
            on_finished(len(samples))

    return record_and_tell


def _report(load: Load, samples: Samples, dispatcher: Dispatcher, watch: Watch) -> RunReport:
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
        requests=len(samples),
        stalls=log.stalls,
        stalled_s=log.stalled_s,
        stalled_share=log.stalled_s / measured_s if log.stalls else 0.0,
        unsent=_unsent(samples),
    )
    if isinstance(source, Schedule):
        return _of_schedule(report, source, dispatcher)
    assert isinstance(load.shape, Closed)  # noqa: S101 - as its source is
    return replace(report, held_up=log.held_up_of(load.shape.tasks, measured_s, len(samples)))


def _unsent(samples: Samples) -> dict[str, int]:
    if all(ending.outcome != GENERATOR_ERROR for ending in samples.endings):
        return {}  # without counting millions
    counts = samples.count_endings().items()
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
