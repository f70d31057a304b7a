"""Runs timelines: known state, steady state, then load, faults and the breaker's watch at once."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lab.engine import Engine
from lab.errors import LabError, NoValidData
from lab.injector_checks import check_single
from lab.loads import STEADY_STATE_TASKS, load_for, steady_state_load
from lab.marks import complaint
from lab.plan import Cell
from lab.record import FIGURE_DIGITS, RATIO_DIGITS, ResultFolder, rounded
from lab.running import RunningSystem
from lab.spec.clients import Client
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import Condition
from lab.spec.timeline import Timeline
from lab.steady_state import check_steady_state
from lab.timeline.breaker import BreakerWatch, Reading
from lab.timeline.clock import TimelineClock
from lab.timeline.conductor import Conductor
from lab.timeline.figures import (
    Figures,
    Observed,
    figure_names,
    figures_by_row,
    samples_by_phase,
)
from lab.timeline.foreign_faults import ForeignFaultWatch
from lab.timeline.phases import Span
from lab.timeline.progress import TimelineProgress
from lab.timeline.sender import Sent, send_all
from lab.touches import touch_values, untouched
from loadgen import Load, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRun:
    """One run with one client; `note` says why it does not count, if it does not."""

    client: str
    repeat: int  # from 1
    rows: dict[str, Figures]
    has_breaker: bool  # whether a service told of one
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    sent: Sent
    conductor: Conductor
    readings: Sequence[Reading]
    foreign: Mapping[str, float]  # what others did, and when it was seen


class TimelineRunner:
    """Runs a timeline with one client after another; each run starts from the same state."""

    def __init__(
        self,
        experiment: Experiment,
        timeline: Timeline,
        *,
        system: RunningSystem,
        engine: Engine,
        folder: ResultFolder,
        progress: TimelineProgress,
        seed: int,
    ) -> None:
        self.runs: list[TimelineRun] = []
        self.loads_s = 0.0
        self._experiment = experiment
        self._timeline = timeline
        self._system = system
        self._engine = engine
        self._folder = folder
        self._progress = progress
        self._seed = seed
        self._faults = {event.name: event.faults for event in timeline.events}

    async def run(self, client: Client, repeat: int) -> None:
        """Run the timeline once with *client* and record it.

        Raises:
            NoValidData: a service failed, or the system was not well where it had to be.
        """
        title = f"run {repeat}, {client.name}"
        self._progress.begin_run(title)
        await self._system.restart_all(client.env)
        cell = self._cell(client)
        await self._check_steady_state(cell, title)
        load = load_for(self._experiment, cell, self._system)
        await check_single(
            self._system, (fault for event in self._timeline.events for fault in event.faults)
        )
        started = datetime.now(UTC)
        played = await self._play(
            load, title, random.Random(f"{self._seed}/{client.name}/{repeat}")
        )
        await self._check_clean(title)
        self._record(client, repeat, started, played)

    def _cell(self, client: Client) -> Cell:
        """Return the cell that stands for the timeline, which says itself how much is sent."""
        tasks = STEADY_STATE_TASKS if self._timeline.stages else self._experiment.load.tasks
        return Cell(
            condition=Condition(name="timeline"),
            client=client,
            requests=self._experiment.load.requests,
            tasks=tasks,
            repeats=1,
            warmup=0,
        )

    async def _check_steady_state(self, cell: Cell, title: str) -> None:
        steady = self._experiment.steady_state
        if steady is None:
            self._note("steady_state.not_tried", title)
            return
        load = steady_state_load(self._experiment, steady, cell, self._system)
        samples = await self._engine.send(load, on_finished=lambda _: None)
        check_steady_state(samples, before=title, logs=self._folder.logs)
        self._progress.end_steady_state(samples.span_s())
        self._note("steady_state.held", title)

    async def _play(self, load: Load, title: str, chance: random.Random) -> _Played:
        def note(what: str, **fields: object) -> None:
            self._note(what, title, **fields)
            self._progress.tell(what, fields)

        clock = TimelineClock()
        conductor = Conductor(self._system, clock, chance, note)
        watch = BreakerWatch(self._system, clock, note)
        foreign = ForeignFaultWatch(self._system, clock)
        note("timeline.began", at_s=0.0)
        try:
            async with asyncio.TaskGroup() as group:
                watching = [group.create_task(each) for each in (watch.watch(), foreign.watch())]
                playing = group.create_task(conductor.play(self._timeline.events))
                sent = await send_all(self._timeline, load, self._engine, clock, note)
                await playing
                for each in watching:
                    each.cancel()
            await foreign.look()
        except* (LabError, OSError) as failures:
            raise NoValidData(str(_first(failures))) from failures
        self.loads_s += clock.now_s()
        return _Played(
            sent=sent,
            conductor=conductor,
            readings=watch.readings,
            foreign=foreign.found,
        )

    async def _check_clean(self, title: str) -> None:
        """Make sure that no fault is left on."""
        faults = [fault for event in self._timeline.events for fault in event.faults]
        for name in {fault.service for fault in faults if isinstance(fault, ChaosFault)}:
            if not await self._system.injectors[name].is_off():
                raise NoValidData(f"after {title} the fault of {name} could not be cleared")
        for link in {fault.link for fault in faults if isinstance(fault, LinkFault)}:
            if not await self._system.place(link).is_clear():
                raise NoValidData(f"after {title} the fault on {link} could not be cleared")

    def _record(self, client: Client, repeat: int, started: datetime, played: _Played) -> None:
        classes = self._experiment.outcome.classes
        observed = Observed(
            timeline=self._timeline,
            classes=classes,
            parts=played.sent.parts,
            spans=played.conductor.spans,
            readings=played.readings,
        )
        rows = figures_by_row(observed)
        for name, touches in played.conductor.touches.items():
            values = touch_values(self._faults[name], touches)
            rows[name] |= {column: value for column, value in values.items() if value is not None}
        run = TimelineRun(
            client=client.name,
            repeat=repeat,
            rows=rows,
            has_breaker=bool(played.readings),
            note=self._why_invalid(played),
        )
        for phase, samples in samples_by_phase(observed).items():
            key = (phase, client.name, repeat)
            self._folder.add_requests(key, samples, names=self._experiment.load.names)
        self._folder.add_rows([self._row(run, name, started) for name in run.rows])
        self.runs.append(run)
        self._progress.end_run(run)

    def _why_invalid(self, played: _Played) -> str:
        if dead := self._system.dead_services():
            return f"service {dead[0]} ended by itself"
        if played.foreign:
            return "; ".join(f"{what}, seen at {at:.1f} s" for what, at in played.foreign.items())
        if mark := self._strange_mark(played):
            return mark
        if early := played.conductor.ended_early:
            return f"the faults of {early[0]!r} were gone before its end"
        for name, touches in played.conductor.touches.items():
            if nothing := untouched(self._faults[name], touches):
                return f"{name!r}: {nothing}"
        return "; ".join(dict.fromkeys(played.sent.limits))

    def _strange_mark(self, played: _Played) -> str:
        """Return in words the first mark that no fault can have made that was on meanwhile."""
        marked = (each for part in played.sent.parts.values() for each in part if each.fault)
        for sample in marked:
            faults = [
                fault
                for name, span in played.conductor.spans.items()
                if _overlap(sample, span)
                for fault in self._faults[name]
            ]
            if strange := complaint([sample.fault], faults, self._system.injectors):
                return f"{strange}, first at {sample.finished_s:.1f} s"
        return ""

    def _row(self, run: TimelineRun, name: str, started: datetime) -> dict[str, object]:
        """Return a row of `runs.csv`: as those of a table, and more columns."""
        figures = run.rows[name]
        names = figure_names(self._experiment.outcome.classes, self._timeline)
        return {
            "started_utc": started.isoformat(timespec="milliseconds"),
            "fault": name,
            "client": run.client,
            "repeat": run.repeat,
            **{figure: _in_file(figure, figures) for figure in names},
            "note": run.note,
        }

    def _note(self, event: str, title: str, **fields: object) -> None:
        self._folder.add_event(event, run=title, **fields)


def _overlap(sample: Sample, span: Span) -> bool:
    """Tell whether faults may have been on while a request was under way."""
    return span.asked_s <= sample.finished_s and sample.scheduled_s <= span.off_s


def _in_file(figure: str, figures: Figures) -> float | None:
    digits = FIGURE_DIGITS if figure.endswith("_ms") else RATIO_DIGITS
    return rounded(figures.get(figure), digits)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
