"""`lab run`: from an experiment file to the table on the screen and the result folder."""

import random
import time
from datetime import UTC, datetime

from rich.console import RenderableType

from console import OutputError, complain, say
from lab import redis_server
from lab.engine import start_engine
from lab.errors import NoValidData
from lab.hosts import check_hosts
from lab.interrupt import INTERRUPTED, finish_first, run_until_signal
from lab.locust_engine import call_for_workers, require_locust
from lab.manifest import first_manifest
from lab.matrix import MatrixWork
from lab.record import ResultFolder
from lab.reports.terminal import as_text
from lab.running import bring_up
from lab.spec.experiment import Experiment
from lab.spec.reading import read_experiment
from lab.timeline.work import TimelineWork
from lab.work import RunOptions, Work


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
    work: Work = (TimelineWork if experiment.timeline else MatrixWork)(experiment, options)
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    started = datetime.now(UTC)
    folder = ResultFolder.create(options.out, experiment.name, started)
    session = _Session(experiment, work, folder, seed)
    manifest = first_manifest(experiment, seed=seed, started=started)
    folder.write_manifest(manifest)
    exit_code = run_until_signal(session.run())
    with finish_first() as signals:
        folder.write_manifest(manifest | session.ending)
        if folder.has_runs:
            is_whole = exit_code == 0
            conclusion = work.conclude(folder, is_whole=is_whole, language=options.language)
            _show(conclusion.table, folder)
            exit_code = exit_code or conclusion.exit_code
        exit_code = INTERRUPTED if signals else exit_code
        complain(_last_word(exit_code, session, folder))
    return exit_code


def _show(table: RenderableType, folder: ResultFolder) -> None:
    """Print the table; a reader who has gone away, or a full disk, spoils nothing."""
    try:
        say(as_text(table))
    except OutputError as lost:
        complain(f"the table cannot be printed ({lost}); it is in {folder.path}/table.md")


def _last_word(exit_code: int, session: "_Session", folder: ResultFolder) -> str:
    if exit_code == INTERRUPTED:
        return f"interrupted; the runs that had finished are in {folder.path}"
    loads_s, total_s = session.ending.get("loads_s", 0.0), session.ending["total_s"]
    return f"{total_s:.0f} s, of which loads {loads_s:.0f} s; all of it in {folder.path}"


class _Session:
    """One run of an experiment, with what has to stand around the work."""

    def __init__(self, experiment: Experiment, work: Work, folder: ResultFolder, seed: int) -> None:
        self.ending: dict[str, object] = {"status": "interrupted"}  # for the manifest
        self._experiment = experiment
        self._work = work
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
                try:
                    await self._work.run(system, engine, self._folder, self._seed)
                finally:
                    self.ending["loads_s"] = round(self._work.loads_s, 3)
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
