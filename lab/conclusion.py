"""What the recorded runs of an experiment come to: summary, verdicts, files, exit code."""

from collections.abc import Sequence

from lab.plan import Cell
from lab.record import ResultFolder
from lab.reports import LANGUAGES, Report, render_markdown
from lab.spec.experiment import Experiment
from lab.summary import summarise, write_summary
from lab.sweep import sweep_rows, write_sweep
from lab.touches import columns_for
from lab.verdicts import Agreement, check, judge

AS_EXPECTED = 0
EXPECTATION_FAILED = 1
NO_VALID_DATA = 3


def conclude(
    experiment: Experiment, cells: Sequence[Cell] | None, folder: ResultFolder, *, language: str
) -> Report:
    """Summarise `runs.csv`, write `summary.csv` and `table.md` beside it, return the report.

    An experiment with a sweep leaves `sweep.csv`, too. The first class of the outcome is what a
    setting is to buy.

    Args:
        experiment: whose expectations and published figures the medians are held against.
        cells: those that had to run; None for a run that was cut short: those that did.
        folder: with at least one recorded run.
        language: of `table.md`, a key of `LANGUAGES`.
    """
    classes, names = experiment.outcome.classes, experiment.load.names
    touched = columns_for(each.faults for each in experiment.conditions)
    summaries = summarise(
        folder.path / "runs.csv", classes=classes, cells=cells, names=names, touched=touched
    )
    report = Report(
        title=experiment.title,
        classes=classes,
        names=names,
        conditions=experiment.conditions,
        summaries=summaries,
        sweep=sweep_rows(summaries, experiment.clients, classes=classes),
        verdicts=judge(summaries, experiment.published),
        outcomes=check(summaries, experiment.expectations),
    )
    write_summary(
        summaries, folder.path / "summary.csv", classes=classes, names=names, touched=touched
    )
    if report.sweep:
        write_sweep(report.sweep, folder.path / "sweep.csv", classes=classes)
    page = render_markdown(report, LANGUAGES[language])
    (folder.path / "table.md").write_text(page, encoding="utf-8", newline="\n")
    return report


def exit_code_of(report: Report) -> int:
    """Return 3 if a cell has no run that counts, 1 if a bound is not kept, else 0."""
    if any(summary.runs == 0 for summary in report.summaries):
        return NO_VALID_DATA
    inside = all(verdict.agreement is Agreement.INSIDE for verdict in report.verdicts)
    kept = all(outcome.holds for outcome in report.outcomes)
    return AS_EXPECTED if inside and kept else EXPECTATION_FAILED
