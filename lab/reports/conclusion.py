"""What the recorded runs of a result folder come to: summary, verdicts, files, exit code."""

from lab.reports.markdown import render_markdown
from lab.reports.report import Report
from lab.reports.words import LANGUAGES
from lab.results.manifest import outline_in
from lab.results.record import ResultFolder
from lab.results.summary import summarise, write_summary
from lab.results.sweep import sweep_rows, write_sweep
from lab.results.verdicts import Agreement, check, judge

AS_EXPECTED = 0
EXPECTATION_FAILED = 1
NO_VALID_DATA = 3


def conclude(folder: ResultFolder) -> Report:
    """Return what the runs of a result folder come to; nothing is written.

    The first class of the outcome is what a setting of a sweep is to buy.

    Args:
        folder: with at least one recorded run.

    Raises:
        UsageError: the folder is no result of a run, or of another version of the lab.
        RunsError: its `runs.csv` is damaged.
    """
    manifest = folder.manifest()
    outline = outline_in(manifest)
    is_whole = manifest.get("status") == "finished"
    summaries = summarise(folder.path / "runs.csv", outline, is_whole=is_whole)
    return Report(
        outline=outline,
        summaries=summaries,
        sweep=sweep_rows(summaries, outline.clients, classes=outline.classes),
        verdicts=judge(summaries, outline.published),
        outcomes=check(summaries, outline),
        has_breaker=folder.has_event("breaker.seen"),
    )


def write_conclusion(report: Report, folder: ResultFolder, *, language: str) -> None:
    """Write `summary.csv`, `table.md` and, of a sweep, `sweep.csv`.

    Args:
        report: of the folder's runs.
        folder: without these files.
        language: of `table.md`, a key of `LANGUAGES`.

    Raises:
        FileExistsError: there is one of them; nothing is ever overwritten.
    """
    outline = report.outline
    write_summary(report.summaries, folder.path / "summary.csv", outline)
    if report.sweep:
        write_sweep(report.sweep, folder.path / "sweep.csv", classes=outline.classes)
    page = render_markdown(report, LANGUAGES[language])
    with (folder.path / "table.md").open("x", encoding="utf-8", newline="\n") as file:
        file.write(page)


def exit_code_of(report: Report) -> int:
    """Return 3 if a cell has no run that counts, 1 if a bound is not kept, else 0."""
    if any(summary.runs == 0 for summary in report.summaries):
        return NO_VALID_DATA
    inside = all(verdict.agreement is Agreement.INSIDE for verdict in report.verdicts)
    kept = all(outcome.holds for outcome in report.outcomes)
    return AS_EXPECTED if inside and kept else EXPECTATION_FAILED
