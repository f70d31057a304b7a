"""`lab run` of an experiment with a timeline."""

from rich.console import Console

from lab.conclusion import AS_EXPECTED, EXPECTATION_FAILED, NO_VALID_DATA
from lab.engine import Engine
from lab.plan import SelectionError, parse_selection, pick_clients
from lab.record import ResultFolder
from lab.reports import LANGUAGES
from lab.running import RunningSystem
from lab.spec.clients import Client
from lab.spec.experiment import Experiment
from lab.timeline.page import TerminalPage, markdown
from lab.timeline.phases import row_names
from lab.timeline.progress import TimelineProgress
from lab.timeline.report import TimelineReport, page_of
from lab.timeline.runner import TimelineRun, TimelineRunner
from lab.timeline.summary import check, summarise, write_summary
from lab.timeline.wording import TIMELINE_LANGUAGES
from lab.verdicts import Agreement, judge
from lab.volume import timeline_in_words
from lab.work import Conclusion, RunOptions


class TimelineWork:
    """The timeline of an experiment, run with each client; see `Work`.

    Raises:
        SelectionError: the options pick what the experiment does not have.
    """

    def __init__(self, experiment: Experiment, options: RunOptions) -> None:
        assert experiment.timeline is not None  # noqa: S101 - the caller's choice
        self.loads_s = 0.0
        self._experiment = experiment
        self._timeline = experiment.timeline
        self._repeats = options.repeats or experiment.repeats
        self._clients = _picked(experiment, options)
        self._runs: list[TimelineRun] = []

    async def run(
        self, system: RunningSystem, engine: Engine, folder: ResultFolder, seed: int
    ) -> None:
        """Run the timeline with each client, again and again."""
        number = len(self._clients) * self._repeats
        progress = TimelineProgress(self._timeline, number, Console(stderr=True))
        runner = TimelineRunner(
            self._experiment,
            self._timeline,
            system=system,
            engine=engine,
            folder=folder,
            progress=progress,
            seed=seed,
        )
        progress.announce(timeline_in_words(self._experiment, self._timeline, runs=number))
        self._runs = runner.runs
        try:
            for client in self._clients:
                for repeat in range(1, self._repeats + 1):
                    await runner.run(client, repeat)
        finally:
            self.loads_s = runner.loads_s

    def conclude(self, folder: ResultFolder, *, is_whole: bool, language: str) -> Conclusion:
        """Write the summary and return the tables."""
        ran = {run.client for run in self._runs}
        summaries = summarise(
            self._runs,
            rows=row_names(self._timeline),
            clients=[each.name for each in self._clients if is_whole or each.name in ran],
        )
        report = TimelineReport(
            experiment=self._experiment,
            timeline=self._timeline,
            runs=self._runs,
            summaries=summaries,
            verdicts=judge(summaries, self._experiment.published),
            outcomes=check(self._runs, self._experiment.expectations, summaries),
        )
        classes = self._experiment.outcome.classes
        write_summary(
            summaries, folder.path / "summary.csv", classes=classes, timeline=self._timeline
        )
        page = page_of(report, LANGUAGES[language], TIMELINE_LANGUAGES[language])
        table = folder.path / "table.md"
        table.write_text(markdown(page), encoding="utf-8", newline="\n")
        return Conclusion(table=TerminalPage(page=page), exit_code=_exit_code(report))


def _picked(experiment: Experiment, options: RunOptions) -> tuple[Client, ...]:
    only = parse_selection(options.only)
    if only.faults:
        raise SelectionError("a timeline is run whole; pick clients only, with client=NAME")
    return pick_clients(experiment, only)


def _exit_code(report: TimelineReport) -> int:
    """Return 3 if a client has no run that counts, 1 if a bound is not kept, else 0."""
    if any(row.runs == 0 for row in report.summaries):
        return NO_VALID_DATA
    inside = all(verdict.agreement is Agreement.INSIDE for verdict in report.verdicts)
    kept = all(outcome.holds for outcome in report.outcomes)
    return AS_EXPECTED if inside and kept else EXPECTATION_FAILED
