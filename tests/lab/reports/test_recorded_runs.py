"""What the repository's own experiments print for runs that were recorded once, word by word."""

import csv
import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from lab.conclusion import conclude
from lab.experiment import Experiment, Timeline
from lab.files import read_experiment
from lab.record import ResultFolder
from lab.reports import LANGUAGES, TerminalReport
from lab.timeline.page import TerminalPage, markdown
from lab.timeline.phases import row_names
from lab.timeline.report import TimelineReport, page_of
from lab.timeline.runner import TimelineRun
from lab.timeline.summary import check, summarise
from lab.timeline.wording import TIMELINE_LANGUAGES
from lab.verdicts import judge

HERE = Path(__file__).parent
EXPERIMENTS = Path(__file__).parents[3] / "experiments"
NAMES = ("gameday", "recovery", "sweep")
NOT_FIGURES = ("started_utc", "fault", "client", "repeat", "note")


def report_of(name: str, language: str, folder: Path) -> tuple[RenderableType, str]:
    """Return what the terminal shows, and the page, of the runs that were recorded."""
    experiment = read_experiment(EXPERIMENTS / f"{name}.yaml")
    shutil.copy(HERE / "recorded" / f"{name}.csv", folder / "runs.csv")
    if experiment.timeline is None:
        table = conclude(experiment, None, ResultFolder(folder), language=language)
        shown = TerminalReport(report=table, words=LANGUAGES[language])
        return shown, (folder / "table.md").read_text(encoding="utf-8")
    page = page_of(
        _timeline_report(experiment, experiment.timeline, folder / "runs.csv"),
        LANGUAGES[language],
        TIMELINE_LANGUAGES[language],
    )
    return TerminalPage(page=page), markdown(page)


def _timeline_report(experiment: Experiment, timeline: Timeline, file: Path) -> TimelineReport:
    runs: dict[tuple[str, int], TimelineRun] = {}
    for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        key = (row["client"], int(row["repeat"]))
        run = runs.setdefault(
            key, TimelineRun(client=key[0], repeat=key[1], rows={}, has_breaker=True)
        )
        run.rows[row["fault"]] = {
            figure: float(value)
            for figure, value in row.items()
            if value and figure not in NOT_FIGURES
        }
    found = list(runs.values())
    clients = dict.fromkeys(run.client for run in found)
    summaries = summarise(found, rows=row_names(timeline), clients=clients)
    return TimelineReport(
        experiment=experiment,
        timeline=timeline,
        runs=found,
        summaries=summaries,
        verdicts=judge(summaries, experiment.published),
        outcomes=check(found, experiment.expectations, summaries),
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [80, 120])
def test_an_experiment_prints_the_tables_that_it_printed(
    tmp_path: Path, name: str, width: int
) -> None:
    shown, _ = report_of(name, "en", tmp_path)
    file = io.StringIO()
    Console(file=file, width=width).print(shown)
    golden = (HERE / "golden" / f"{name}.en.{width}.txt").read_text(encoding="utf-8")

    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == golden.splitlines()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "uk"])
def test_an_experiment_leaves_the_page_that_it_left(
    tmp_path: Path, name: str, language: str
) -> None:
    _, page = report_of(name, language, tmp_path)

    golden = (HERE / "golden" / f"{name}.{language}.md").read_text(encoding="utf-8")
    assert page == golden
