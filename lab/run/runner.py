"""Runs the cells of a plan: known state, steady state, faults, warm-up, runs, clean-up."""

import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from lab.faults import AppliedFault, applied
from lab.results.figures import Observed, figures_by_row, samples_by_row
from lab.results.manifest import plain
from lab.results.outline import Outline
from lab.results.record import ResultFolder, Run
from lab.results.touches import Touches, since, touch_values
from lab.run.checks import (
    Counts,
    check_clean,
    check_single,
    check_steady_state,
    foreign_faults,
    read_counts,
    why_invalid,
)
from lab.run.engine import Engine
from lab.run.loads import Send, sends_of, steady_state_load
from lab.run.plan import Cell
from lab.run.play import FaultsOn, Played, Player, all_on
from lab.run.progress import Progress
from lab.run.proxy_states import proxy_limits, read_proxies
from lab.running import RunningSystem
from lab.spec.experiment import Experiment
from loadgen import Load, Samples


class Runner:
    """Runs cell after cell; each starts from the same state, whatever ran before it.

    Attributes:
        loads_s: what all loads took so far, warm-up and steady state included.
    """

    def __init__(
        self,
        experiment: Experiment,
        outline: Outline,
        *,
        system: RunningSystem,
        engine: Engine,
        folder: ResultFolder,
        progress: Progress,
        seed: int,
    ) -> None:
        self.loads_s = 0.0
        self._experiment = experiment
        self._outline = outline
        self._system = system
        self._engine = engine
        self._folder = folder
        self._progress = progress
        self._seed = seed
        self._is_fresh = True

    async def run(self, cells: Sequence[Cell]) -> None:
        """Run all cells in order; each finished run is on disk when the next begins.

        Raises:
            NoValidData: a service failed, or the system was not well where it had to be.
        """
        for cell in cells:
            self._progress.begin_cell(cell)
            await self._run_cell(cell)

    async def _run_cell(self, cell: Cell) -> None:
        sends = sends_of(self._experiment, cell, self._system)
        await self._reach_known_state(cell)
        await foreign_faults(self._system)  # what was done before is nobody's business
        await self._check_steady_state(cell)
        await check_single(self._system, cell.faults)
        async with AsyncExitStack() as faults:
            on = []
            rng = random.Random(self._seed_of(cell))
            for fault in cell.condition.faults:
                on.append(await faults.enter_async_context(applied(fault, self._system, rng)))
                self._note("fault.applied", cell, fault=plain(fault))
            at_faults = await read_counts(self._system, sends[0].load)
            untouched = [await fault.touches() for fault in on]
            for number in range(1, cell.warmup + 1):
                self._progress.step(f"warm-up {number}/{cell.warmup}", cell.planned_requests or 0)
                await self._send(sends[0].load)
                self._progress.end_warmup()
            for repeat in range(cell.first_repeat, cell.first_repeat + cell.repeats):
                self._progress.step(f"run {repeat}/{cell.repeats}", cell.planned_requests or 0)
                await self._measure(cell, sends, repeat, _Standing(on, untouched, at_faults), rng)
        self._note("faults.reverted", cell)
        await check_clean(self._system, cell.faults, after=_title(cell))

    def _seed_of(self, cell: Cell) -> str:
        """Return a seed of the cell's name: it does not depend on which cells ran before it."""
        which = cell.first_repeat if cell.timeline else cell.condition.name
        return f"{self._seed}/{which}/{cell.client.name}"

    async def _reach_known_state(self, cell: Cell) -> None:
        if not self._is_fresh or cell.client.env:
            self._progress.step("fresh start of the services")
            await self._system.restart_all(cell.client.env)
        self._is_fresh = False

    async def _check_steady_state(self, cell: Cell) -> None:
        steady = self._experiment.steady_state
        if steady is None:
            self._note("steady_state.not_tried", cell)
            return
        self._progress.step("steady state", steady.requests)
        proxies = await read_proxies(self._system.places)
        samples = await self._send(steady_state_load(self._experiment, steady, cell, self._system))
        now = await read_proxies(self._system.places)
        limits = proxy_limits(proxies, now, over_s=samples.span_s())
        check_steady_state(samples, before=_title(cell), logs=self._folder.logs, proxies=limits)
        self._progress.end_steady_state(samples.span_s())
        self._note("steady_state.held", cell)

    async def _measure(
        self,
        cell: Cell,
        sends: Sequence[Send],
        repeat: int,
        standing: "_Standing",
        rng: random.Random,
    ) -> None:
        def note(event: str, **fields: object) -> None:
            self._note(event, cell, repeat=repeat, **fields)
            self._progress.tell(event, fields)

        started = datetime.now(UTC)
        # Nearest to the load, as a look at a counter may be touched as well.
        before = await read_counts(self._system, sends[0].load)
        touches = [await fault.touches() for fault in standing.on]
        player = Player(self._system, self._engine, note, self._progress.finished)
        if cell.timeline is None:
            played = await player.play_load(sends[0])
        else:
            played = await player.play_timeline(sends, cell.timeline.events, rng)
        self.loads_s += player.now_s()
        now = [await fault.touches() for fault in standing.on]
        after = await read_counts(self._system, sends[0].load)
        if standing.on:
            played.faults.append(
                FaultsOn(
                    name=cell.condition.name,
                    faults=cell.condition.faults,
                    since_applied=since(standing.untouched, now),
                    in_run=since(touches, now),
                    are_still_on=await all_on(standing.on),
                )
            )
        why = await why_invalid(
            played, self._system, at_faults=standing.at_faults, before=before, after=after
        )
        attempts = after.attempts_since(before)
        self._record(cell, Run(started, cell.client.name, repeat, why), played, attempts)

    def _record(self, cell: Cell, run: Run, played: Played, attempts: int | None) -> None:
        observed = Observed(
            row=cell.condition.name,
            classes=self._outline.classes,
            requests=self._outline.requests,
            timeline=cell.timeline,
            parts=played.parts,
            spans=played.spans,
            readings=played.readings,
            attempts=attempts,
            tasks=cell.tasks if cell.timeline is None else None,
            rate_per_s=cell.rate_per_s,
        )
        rows = figures_by_row(observed)
        for each in played.faults:
            rows[each.name] |= touch_values(each.faults, each.in_run)
        self._folder.add_run(run, self._outline, rows, samples_by_row(observed))
        self._progress.end_run(run, cell, rows[cell.condition.name])

    async def _send(self, load: Load) -> Samples:
        samples = await self._engine.send(load, on_finished=self._progress.finished)
        self.loads_s += max(samples.finished_s)
        return samples

    def _note(self, event: str, cell: Cell, **fields: object) -> None:
        self._folder.add_event(event, cell=_title(cell), **fields)


@dataclass(frozen=True, slots=True)
class _Standing:
    """The faults of a cell's condition, which are on for all of its loads."""

    on: Sequence[AppliedFault]
    untouched: Sequence[Touches | None]  # what they had touched before the first of the loads
    at_faults: Counts  # the system's counters then


def _title(cell: Cell) -> str:
    if cell.timeline is not None:
        return f"run {cell.first_repeat}, {cell.client.name}"
    return f"{cell.condition.name!r}, {cell.client.name}"
