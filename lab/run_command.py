"""`lab run`: from an experiment file to the table on the screen and the result folder."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from lab.errors import LabError
from lab.estimate import Estimate
from lab.experiment import Experiment
from lab.files import read_experiment
from lab.interrupt import run_until_signal
from lab.load_worker import start_load_worker
from lab.loads import refuse_other_hosts
from lab.manifest import first_manifest
from lab.plan import Cell, plan
from lab.progress import Progress
from lab.record import ResultFolder
from lab.runner import Runner
from lab.running import bring_up

EXPECTATION_FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What `lab run` was asked for."""

    file: Path
    out: Path
    only: Sequence[str]
    repeats: int | None
    seed: int | None
    language: str


def run_command(options: RunOptions) -> int:
    """Run the experiment; return the exit code.

    Raises:
        UsageError: a file or an option is wrong; nothing was started.
        NoValidData: the system failed; finished runs are in the result folder all the same.
    """
    experiment = read_experiment(options.file)
    refuse_other_hosts(experiment)
    cells = plan(experiment, only=options.only, repeats=options.repeats)
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    started = datetime.now(UTC)
    folder = ResultFolder.create(options.out, experiment.name, started)
    manifest = first_manifest(experiment, seed=seed, started=started)
    folder.write_manifest(manifest)
    session = _Session(experiment, cells, folder, manifest, seed)
    exit_code = run_until_signal(session.run())
    return session.report(options.language, exit_code)


class _Session:
    """One run of an experiment: the runner's surroundings, and what is written at the end."""

    def __init__(
        self,
        experiment: Experiment,
        cells: Sequence[Cell],
        folder: ResultFolder,
        manifest: dict[str, object],
        seed: int,
    ) -> None:
        self._experiment = experiment
        self._cells = cells
        self._folder = folder
        self._manifest = manifest
        self._seed = seed
        self._failure: LabError | None = None

    async def run(self) -> int:
        """Run all cells; write how it ended into the manifest."""
        began_s = time.monotonic()
        loads_s = 0.0
        status = "interrupted"
        console = Console(stderr=True)
        progress = Progress(self._cells, Estimate(self._experiment, self._cells), console)
        try:
            with progress.shown():
                async with (
                    start_load_worker() as worker,
                    bring_up(self._experiment.system, self._folder.logs) as system,
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
                        loads_s = runner.loads_s
            status = "finished"
            return 0
        except LabError as failure:
            status = f"failed: {failure}"
            self._failure = failure
            return failure.exit_code
        finally:
            ended = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._folder.write_manifest(
                self._manifest
                | {"status": status, "ended_utc": ended}
                | {"loads_s": round(loads_s, 3), "total_s": round(time.monotonic() - began_s, 3)}
            )
