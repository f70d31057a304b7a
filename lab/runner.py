"""Runs the cells of a plan: known state, steady state, fault, warm-up, runs, clean-up."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from lab.control import NoAnswerError, ask
from lab.engine import Engine, counts_of_cut_short, in_words
from lab.errors import NoValidData
from lab.faults import AppliedFault, applied
from lab.injector_checks import check_single, foreign_faults
from lab.loads import load_for, steady_state_load
from lab.manifest import plain
from lab.marks import strange_mark
from lab.plan import Cell
from lab.progress import Progress
from lab.record import ResultFolder, RunRow
from lab.reply_counts import count_replies, disagreement
from lab.running import RunningSystem
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.system import Counter
from lab.steady_state import check_steady_state
from lab.touches import columns_for, touch_values, untouched
from loadgen import Load, Samples, Summary, summarise

COUNTER_TIMEOUT_S = 2.0
_NEWS_OF_AN_END_S = 1.0  # a service's port falls silent before its keeper tells of its end
_LOOKS = 50


class Runner:
    """Runs cell after cell; each starts from the same state, whatever ran before it."""

    def __init__(
        self,
        experiment: Experiment,
        *,
        system: RunningSystem,
        engine: Engine,
        folder: ResultFolder,
        progress: Progress,
        seed: int,
    ) -> None:
        self.loads_s = 0.0  # what all loads took so far, warm-up and steady state included
        self._experiment = experiment
        self._system = system
        self._engine = engine
        self._folder = folder
        self._progress = progress
        self._seed = seed
        self._is_fresh = True
        self._attempts_before_fault: int | None = None
        self._touch_columns = columns_for(each.faults for each in experiment.conditions)

    async def run(self, cells: Sequence[Cell]) -> None:
        """Run all cells in order; each finished run is on disk when the next begins.

        Raises:
            NoValidData: a service failed, or the system was not well where it had to be.
        """
        for cell in cells:
            self._progress.begin_cell(cell)
            await self._run_cell(cell)

    async def _run_cell(self, cell: Cell) -> None:
        load = load_for(self._experiment, cell, self._system)
        await self._reach_known_state(cell)
        await foreign_faults(self._system)  # what was done before is nobody's business
        await self._check_steady_state(cell)
        await check_single(self._system, cell.condition.faults)
        # Of the cell's name, so that a cell's dice do not depend on which cells ran before it.
        chance = random.Random(f"{self._seed}/{cell.condition.name}/{cell.client.name}")
        async with AsyncExitStack() as faults:
            on = []
            for fault in cell.condition.faults:
                on.append(await faults.enter_async_context(applied(fault, self._system, chance)))
                self._note("fault.applied", cell, fault=plain(fault))
            self._attempts_before_fault = await self._attempts()
            for number in range(1, cell.warmup + 1):
                self._progress.step(f"warm-up {number}/{cell.warmup}", cell.planned_requests or 0)
                await self._send(load)
                self._progress.end_warmup()
            for repeat in range(1, cell.repeats + 1):
                self._progress.step(f"run {repeat}/{cell.repeats}", cell.planned_requests or 0)
                await self._measure(cell, load, repeat, on)
        self._note("faults.reverted", cell)
        await self._check_clean(cell)

    async def _reach_known_state(self, cell: Cell) -> None:
        if self._is_fresh and not cell.client.env:
            self._is_fresh = False
            return
        self._is_fresh = False
        self._progress.step("fresh start of the services")
        await self._system.restart_all(cell.client.env)

    async def _check_steady_state(self, cell: Cell) -> None:
        steady = self._experiment.steady_state
        if steady is None:
            self._note("steady_state.not_tried", cell)
            return
        self._progress.step("steady state", steady.requests)
        load = steady_state_load(self._experiment, steady, cell, self._system)
        samples = await self._send(load)
        check_steady_state(samples, before=_title(cell), logs=self._folder.logs)
        self._progress.end_steady_state(samples.span_s())
        self._note("steady_state.held", cell)

    async def _measure(
        self, cell: Cell, load: Load, repeat: int, on: Sequence[AppliedFault]
    ) -> None:
        started = datetime.now(UTC)
        foreign = await foreign_faults(self._system)
        touches_before = [await fault.touches() for fault in on]
        attempts_before = await self._attempts()
        counts_before = await count_replies(self._system, load)
        samples = Samples()
        try:
            await self._send(load, into=samples)
        except asyncio.CancelledError:
            self._tell_cut_short(cell, repeat, samples)
            raise
        counts_after = await count_replies(self._system, load)
        attempts_after = await self._attempts()
        touches = [await fault.touches() for fault in on]
        foreign = foreign or await foreign_faults(self._system)
        faults = cell.condition.faults
        in_this_run = [
            after and after.since(before)
            for before, after in zip(touches_before, touches, strict=True)
        ]
        row = RunRow(
            started=started,
            fault=cell.condition.name,
            client=cell.client.name,
            repeat=repeat,
            tasks=cell.tasks,
            rate_per_s=cell.rate_per_s,
            summary=summarise(samples, load.outcome.classes),
            mix=_by_name(self._experiment.load.names, samples, load.outcome.classes),
            attempts=_difference(attempts_before, attempts_after),
            touched=dict.fromkeys(self._touch_columns) | touch_values(faults, in_this_run),
            note=self._service_that_ended()
            or foreign
            or strange_mark(samples, faults, self._system.injectors)
            or await self._why_fault_is_off(on)
            or _why_not_of_the_system(samples)
            or await self._why_unreached(cell, attempts_after)
            or untouched(faults, touches)
            or disagreement(counts_before, counts_after, samples),
        )
        self._folder.add_run(row, samples)
        self._progress.end_run(row)

    async def _why_unreached(self, cell: Cell, attempts: int | None) -> str:
        for fault in cell.condition.faults:
            if isinstance(fault, LinkFault) and await self._is_unused(fault):
                return f"no connection has crossed {fault.link}"
        if cell.condition.faults and self._has_reached_nobody(cell, attempts):
            return "no call has reached the sick service"
        return ""

    def _service_that_ended(self) -> str:
        dead = self._system.dead_services()
        return f"service {dead[0]} ended by itself" if dead else ""

    async def _why_fault_is_off(self, on: Sequence[AppliedFault]) -> str:
        """Return why a fault is off; empty if all are on.

        Of a service's end we hear later than of its port.
        """
        for fault in on:
            if not await fault.is_active():
                return await self._why_it_ended()
        return ""

    async def _why_it_ended(self) -> str:
        for _ in range(_LOOKS):
            if end := self._service_that_ended():
                return end
            await asyncio.sleep(_NEWS_OF_AN_END_S / _LOOKS)
        return "the fault ended before the run did"

    async def _is_unused(self, fault: LinkFault) -> bool:
        return await self._system.place(fault.link).connections() == 0

    def _has_reached_nobody(self, cell: Cell, attempts: int | None) -> bool:
        links = (f.link for f in cell.condition.faults if isinstance(f, LinkFault))
        if any(self._system.system.service(link.target).attempts for link in links):
            return False  # it counts behind the link, which may be cut
        return _difference(self._attempts_before_fault, attempts) == 0

    def _tell_cut_short(self, cell: Cell, repeat: int, samples: Samples) -> None:
        counts = counts_of_cut_short(samples)
        self._note("load.interrupted", cell, repeat=repeat, **counts)
        self._progress.cut_short(in_words(counts))

    async def _send(self, load: Load, into: Samples | None = None) -> Samples:
        samples = await self._engine.send(load, on_finished=self._progress.finished, into=into)
        self.loads_s += max(samples.finished_s)
        return samples

    async def _attempts(self) -> int | None:
        """Read how many calls the system has sent so far to its sick service, if it counts them."""
        for service in self._system.system.services:
            if (counter := service.attempts) is not None:
                return await self._count(self._system.url(service.name), counter)
        return None

    async def _count(self, url: str, counter: Counter) -> int | None:
        try:
            answer = await ask(
                self._system.http, "GET", url + counter.path, within_s=COUNTER_TIMEOUT_S
            )
        except NoAnswerError:
            return None
        count = answer.field(counter.json_field)
        return count if type(count) is int else None

    async def _check_clean(self, cell: Cell) -> None:
        """Make sure that no fault is left on once the cell's own have been reverted."""
        for name in {f.service for f in cell.condition.faults if isinstance(f, ChaosFault)}:
            if not await self._system.injectors[name].is_off():
                raise NoValidData(f"after {_title(cell)} the fault of {name} could not be cleared")
        for link in {f.link for f in cell.condition.faults if isinstance(f, LinkFault)}:
            if not await self._system.place(link).is_clear():
                raise NoValidData(f"after {_title(cell)} the fault on {link} could not be cleared")

    def _note(self, event: str, cell: Cell, **fields: object) -> None:
        self._folder.add_event(event, cell=_title(cell), **fields)


def _by_name(
    names: Sequence[str], samples: Samples, classes: Sequence[str]
) -> dict[str, Summary | None]:
    """Return the summary of each request of a mix; None of one that was not sent."""
    parts = {name: samples.of_request(number) for number, name in enumerate(names)}
    return {name: summarise(part, classes) if len(part) else None for name, part in parts.items()}


def _why_not_of_the_system(samples: Samples) -> str:
    """Return why the figures are the generator's own; empty if they are not."""
    limits = samples.report.limits if samples.report else ()
    return f"figures of the generator and not of the system: {'; '.join(limits)}" if limits else ""


def _difference(before: int | None, after: int | None) -> int | None:
    """Return how far a counter went on; None if it is unknown or was set back meanwhile."""
    return None if before is None or after is None or after < before else after - before


def _title(cell: Cell) -> str:
    return f"{cell.condition.name!r}, {cell.client.name}"
