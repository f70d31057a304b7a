"""What the repository's own experiments print for runs that were recorded once, word by word."""

import io
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from lab.reports import LANGUAGES, TerminalReport
from lab.reports.conclusion import conclude, write_conclusion
from lab.results.manifest import first_manifest
from lab.results.outline import PlannedCell, outline_of
from lab.results.record import ResultFolder
from lab.run.plan import plan
from lab.spec.reading import read_experiment

HERE = Path(__file__).parent
EXPERIMENTS = Path(__file__).parents[3] / "experiments"
NAMES = ("gameday", "recovery", "sweep")


def shown(name: str, language: str, folder: Path) -> TerminalReport:
    """Return the report of the runs that were recorded; leaves a page in *folder*."""
    experiment = read_experiment(EXPERIMENTS / f"{name}.yaml")
    cells = [
        PlannedCell(fault=cell.condition.name, client=cell.client.name, requests=cell.requests)
        for cell in plan(experiment)
    ]
    outline = outline_of(experiment, cells)
    result = ResultFolder(folder)
    manifest = first_manifest(experiment, outline, seed=1, started=datetime.now(UTC))
    result.write_manifest(manifest | {"status": "finished"})
    result.add_event("breaker.seen")
    shutil.copy(HERE / "recorded" / f"{name}.csv", folder / "runs.csv")
    report = conclude(result)
    write_conclusion(report, result, language=language)
    return TerminalReport(report=report, words=LANGUAGES[language])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [80, 120])
def test_an_experiment_prints_the_tables_that_it_printed(
    tmp_path: Path, name: str, width: int
) -> None:
    file = io.StringIO()
    Console(file=file, width=width).print(shown(name, "en", tmp_path))
    golden = (HERE / "golden" / f"{name}.en.{width}.txt").read_text(encoding="utf-8")

    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == golden.splitlines()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "uk"])
def test_an_experiment_leaves_the_page_that_it_left(
    tmp_path: Path, name: str, language: str
) -> None:
    shown(name, language, tmp_path)

    golden = (HERE / "golden" / f"{name}.{language}.md").read_text(encoding="utf-8")
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == golden
