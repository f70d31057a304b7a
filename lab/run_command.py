"""`lab run`: from an experiment file to the table on the screen and the result folder."""

import os
import random
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from lab import redis_server
from lab.conclusion import conclude, exit_code_of
from lab.errors import NoValidData
from lab.estimate import Estimate
from lab.experiment import Experiment
from lab.files import read_experiment
from lab.hosts import check_hosts
from lab.interrupt import INTERRUPTED, finish_first, run_until_signal
from lab.load_worker import start_load_worker
from lab.manifest import first_manifest
from lab.plan import Cell, parse_selection, plan
from lab.progress import Progress
from lab.record import ResultFolder
from lab.reports import LANGUAGES, TerminalReport
from lab.runner import Runner
from lab.running import bring_up


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What `lab run` was asked for."""

    file: Path
    out: Path
    only: Sequence[str]
    repeats: int | None
    seed: int | None
    language: str
    allowed_hosts: Sequence[str] = ()  # beside this machine


def run_command(options: RunOptions) -> int:
    """Run the experiment and report it; return the exit code.

    Raises:
        UsageError: a file or an option is wrong; nothing was started.
    """
    experiment = read_experiment(options.file)
    check_hosts(experiment.system, options.allowed_hosts)
    if any(service.backing == "redis" for service in experiment.system.services):
        redis_server.url_of_running_server()  # refuses a wrong one now, before anything starts
    cells = plan(experiment, only=parse_selection(options.only), repeats=options.repeats)
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    started = datetime.now(UTC)
    folder = ResultFolder.create(options.out, experiment.name, started)
    session = _Session(experiment, cells, folder, seed)
    manifest = first_manifest(experiment, seed=seed, started=started)
    folder.write_manifest(manifest)
    exit_code = run_until_signal(session.run())
    with finish_first() as signals:
        folder.write_manifest(manifest | session.ending)
        if folder.has_runs:
            whole = cells if exit_code == 0 else None
            report = conclude(experiment, whole, folder, language=options.language)
            _show(TerminalReport(report=report, words=LANGUAGES[options.language]), folder)
            exit_code = exit_code or exit_code_of(report)
        exit_code = INTERRUPTED if signals else exit_code
        _say(_last_word(exit_code, session, folder))
    return exit_code


def _show(table: TerminalReport, folder: ResultFolder) -> None:
    """Print the table; a reader who has gone away, or a full disk, spoils nothing."""
    try:
        Console().print(table)
        sys.stdout.flush()
    except OSError as failure:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - or the exit would try again
        _say(f"the table cannot be printed ({failure.strerror}); it is in {folder.path}/table.md")


def _say(text: str) -> None:
    with suppress(OSError):  # nobody listens
        print(text, file=sys.stderr, flush=True)


def _last_word(exit_code: int, session: "_Session", folder: ResultFolder) -> str:
    if exit_code == INTERRUPTED:
        return f"interrupted; the runs that had finished are in {folder.path}"
    loads_s, total_s = session.ending.get("loads_s", 0.0), session.ending["total_s"]
    return f"{total_s:.0f} s, of which loads {loads_s:.0f} s; all of it in {folder.path}"


class _Session:
    """One run of an experiment, with what has to stand around the runner."""

    def __init__(
        self, experiment: Experiment, cells: Sequence[Cell], folder: ResultFolder, seed: int
    ) -> None:
        self.ending: dict[str, object] = {"status": "interrupted"}  # for the manifest
        self._experiment = experiment
        self._cells = cells
        self._folder = folder
        self._seed = seed

    async def run(self) -> int:
        """Run all cells and return the exit code so far: 0, or 3 with a message shown."""
        began_ns = time.perf_counter_ns()
        console = Console(stderr=True)
        progress = Progress(self._cells, Estimate(self._experiment, self._cells), console)
        try:
            progress.announce()
            with progress.shown():
                await self._run_cells(progress)
            self.ending["status"] = "finished"
        except (NoValidData, OSError) as failure:
            self.ending["status"] = f"failed: {failure}"
            _say(str(failure))
            return NoValidData.exit_code
        finally:
            ended = datetime.now(UTC).isoformat(timespec="milliseconds")
            total_s = round((time.perf_counter_ns() - began_ns) / 1e9, 3)
            self.ending |= {"ended_utc": ended, "total_s": total_s}
        return 0

    async def _run_cells(self, progress: Progress) -> None:
        async with (
            start_load_worker() as worker,
            bring_up(self._experiment.system, self._folder.logs, self._experiment.links) as system,
        ):
            runner = Runner(
                self._experiment,
                system=system,
                worker=worker,
                folder=self._folder,
                progress=progress,
                seed=self._seed,
            )
            try:
                await runner.run(self._cells)
            finally:
                self.ending["loads_s"] = round(runner.loads_s, 3)
