"""An experiment whose conditions are each run with each client."""

from rich.console import Console

from lab.conclusion import conclude, exit_code_of
from lab.engine import Engine
from lab.estimate import Estimate
from lab.plan import parse_selection, plan
from lab.progress import Progress
from lab.record import ResultFolder
from lab.reports import LANGUAGES, TerminalReport
from lab.runner import Runner
from lab.running import RunningSystem
from lab.spec.experiment import Experiment
from lab.volume import table_in_words
from lab.work import Conclusion, RunOptions


class MatrixWork:
    """The cells of an experiment, one after another; see `Work`.

    Raises:
        SelectionError: the options pick what the experiment does not have.
    """

    def __init__(self, experiment: Experiment, options: RunOptions) -> None:
        self.loads_s = 0.0
        self._experiment = experiment
        self._cells = plan(experiment, only=parse_selection(options.only), repeats=options.repeats)

    async def run(
        self, system: RunningSystem, engine: Engine, folder: ResultFolder, seed: int
    ) -> None:
        """Run all cells."""
        estimate = Estimate(self._experiment, self._cells)
        progress = Progress(self._cells, estimate, Console(stderr=True))
        runner = Runner(
            self._experiment,
            system=system,
            engine=engine,
            folder=folder,
            progress=progress,
            seed=seed,
        )
        progress.announce(table_in_words(self._experiment, self._cells))
        try:
            with progress.shown():
                await runner.run(self._cells)
        finally:
            self.loads_s = runner.loads_s

    def conclude(self, folder: ResultFolder, *, is_whole: bool, language: str) -> Conclusion:
        """Write the summary and return the table."""
        cells = self._cells if is_whole else None
        report = conclude(self._experiment, cells, folder, language=language)
        return Conclusion(
            table=TerminalReport(report=report, words=LANGUAGES[language]),
            exit_code=exit_code_of(report),
        )
