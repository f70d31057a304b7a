"""`lab run`: from an experiment file to the table on the screen and the result folder."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from console import OutputError, complain, say
from lab import redis_server
from lab.errors import NoValidData, UsageError
from lab.hosts import check_hosts
from lab.interrupt import INTERRUPTED, finish_first, run_until_signal
from lab.reports import LANGUAGES, TerminalReport
from lab.reports.conclusion import conclude, exit_code_of, write_conclusion
from lab.reports.report import Report
from lab.reports.terminal import as_text
from lab.results.manifest import first_manifest
from lab.results.outline import Outline, PlannedCell, outline_of
from lab.results.record import ResultFolder
from lab.results.summary import RunsError
from lab.run.engine import Engine, start_engine
from lab.run.locust_engine import call_for_workers, require_locust
from lab.run.plan import Cell, in_words, parse_selection, plan
from lab.run.progress import Progress
from lab.run.runner import Runner
from lab.running import RunningSystem, bring_up
from lab.spec.experiment import Experiment
from lab.spec.reading import read_experiment


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
    if experiment.load.locust is not None:
        require_locust("engine: locust")
    cells = plan(experiment, only=parse_selection(options.only), repeats=options.repeats)
    outline = outline_of(experiment, [_planned(cell) for cell in cells])
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    started = datetime.now(UTC)
    folder = ResultFolder.create(options.out, experiment.name, started)
    manifest = first_manifest(experiment, outline, seed=seed, started=started)
    folder.write_manifest(manifest)
    session = _Session(experiment, outline, cells, folder, seed)
    exit_code = run_until_signal(session.run())
    with finish_first() as signals:
        folder.write_manifest(manifest | session.ending)
        if folder.has_runs:
            report = conclude(folder)
            write_conclusion(report, folder, language=options.language)
            _show(report, folder, options.language)
            exit_code = exit_code or exit_code_of(report)
        exit_code = INTERRUPTED if signals else exit_code
        complain(_last_word(exit_code, session, folder))
    return exit_code


def report_command(path: Path, language: str) -> int:
    """Report a run that is on disk again; return the exit code that its figures are worth.

    Raises:
        UsageError: the folder is no result of a run, or has no run that was finished.
    """
    folder = ResultFolder(path)
    if not folder.has_runs:
        raise UsageError(f"{path} has no runs.csv; name a folder that `lab run` has left")
    try:
        report = conclude(folder)
    except RunsError as error:
        raise UsageError(str(error)) from error
    say(as_text(TerminalReport(report=report, words=LANGUAGES[language])))
    return exit_code_of(report)


def _planned(cell: Cell) -> PlannedCell:
    return PlannedCell(
        fault=cell.condition.name, client=cell.client.name, requests=cell.planned_requests
    )


def _show(report: Report, folder: ResultFolder, language: str) -> None:
    """Print the table; a reader who has gone away, or a full disk, spoils nothing."""
    try:
        say(as_text(TerminalReport(report=report, words=LANGUAGES[language])))
    except OutputError as lost:
        complain(f"the table cannot be printed ({lost}); it is in {folder.path}/table.md")


def _last_word(exit_code: int, session: "_Session", folder: ResultFolder) -> str:
    if exit_code == INTERRUPTED:
        return f"interrupted; the runs that had finished are in {folder.path}"
    loads_s, total_s = session.ending.get("loads_s", 0.0), session.ending["total_s"]
    return f"{total_s:.0f} s, of which loads {loads_s:.0f} s; all of it in {folder.path}"


class _Session:
    """One run of an experiment, with what has to stand around the work."""

    def __init__(
        self,
        experiment: Experiment,
        outline: Outline,
        cells: Sequence[Cell],
        folder: ResultFolder,
        seed: int,
    ) -> None:
        self.ending: dict[str, object] = {"status": "interrupted"}  # for the manifest
        self._experiment = experiment
        self._outline = outline
        self._cells = cells
        self._folder = folder
        self._seed = seed

    async def run(self) -> int:
        """Do the work and return the exit code so far: 0, or 3 with a message shown."""
        began_ns = time.perf_counter_ns()
        locust = self._experiment.load.locust
        if locust is not None and locust.elsewhere:
            complain(call_for_workers(locust))
        try:
            async with (
                start_engine(locust) as engine,
                bring_up(
                    self._experiment.system, self._folder.logs, self._experiment.links
                ) as system,
            ):
                await self._run_cells(system, engine)
            self.ending["status"] = "finished"
        except (NoValidData, OSError) as failure:
            self.ending["status"] = f"failed: {failure}"
            complain(str(failure))
            return NoValidData.exit_code
        finally:
            ended = datetime.now(UTC).isoformat(timespec="milliseconds")
            total_s = round((time.perf_counter_ns() - began_ns) / 1e9, 3)
            self.ending |= {"ended_utc": ended, "total_s": total_s}
        return 0

    async def _run_cells(self, system: RunningSystem, engine: Engine) -> None:
        progress = Progress(self._experiment, self._cells, Console(stderr=True))
        runner = Runner(
            self._experiment,
            self._outline,
            system=system,
            engine=engine,
            folder=self._folder,
            progress=progress,
            seed=self._seed,
        )
        progress.announce(in_words(self._experiment, self._cells))
        try:
            with progress.shown():
                await runner.run(self._cells)
        finally:
            self.ending["loads_s"] = round(runner.loads_s, 3)
