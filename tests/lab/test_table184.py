"""The experiment that the project is shipped with says what the chapter's table says."""

import shutil
from pathlib import Path

import pytest

from lab.run.plan import plan
from lab.spec.experiment import Experiment
from lab.spec.reading import read_experiment
from tests.lab.spec.folder import SYSTEM

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SPEED = ("mean_ms", "requests_per_s")


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """Read it beside a system of the test's own: it must not depend on one's ports or options."""
    copied = shutil.copytree(EXPERIMENTS, tmp_path / "experiments")
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "rates.yaml").write_text(SYSTEM)
    return read_experiment(copied / "table184.yaml")


def test_it_has_the_ten_rows_of_the_table(experiment: Experiment) -> None:
    cells = [(c.name, c.requests, c.tasks, c.repeats, c.warmup) for c in plan(experiment)]

    assert cells[0] == ("none / resilient", 200, 4, 5, 1)
    assert len(cells) == 10
    assert cells[-1] == ("rates stopped / raw", 8, 4, 1, 0)


def test_each_row_has_its_four_published_figures_that_add_up(experiment: Experiment) -> None:
    published = {(p.fault, p.client, p.figure): p.published for p in experiment.published}

    assert len(published) == 40
    for cell in plan(experiment):
        row = {figure: published[cell.condition.name, cell.client.name, figure] for figure in SPEED}
        fresh, stale = (
            published[cell.condition.name, cell.client.name, each] for each in ("fresh", "stale")
        )
        assert fresh + stale == cell.requests
        # By Little's law; the source rounds its means to whole milliseconds.
        tasks_at_work = row["mean_ms"] / 1000 * row["requests_per_s"]
        assert tasks_at_work == pytest.approx(4, rel=0.45)


@pytest.mark.parametrize(
    ("cell", "figure", "band"),
    [
        (("none", "resilient"), "fresh", (200, 200)),
        (("none", "raw"), "fresh", (200, 200)),
        (("30 % replies 500", "resilient"), "fresh", (185, 200)),
        (("30 % replies 500", "raw"), "fresh", (122, 158)),
        (("70 % replies 500", "resilient"), "fresh", (0, 5)),
        (("500 ms delay", "resilient"), "fresh", (0, 0)),
        (("500 ms delay", "resilient"), "mean_ms", (0, 5)),
        (("500 ms delay", "raw"), "fresh", (200, 200)),
        (("500 ms delay", "raw"), "mean_ms", (500, 520)),
        (("rates stopped", "resilient"), "fresh", (0, 0)),
        (("rates stopped", "resilient"), "mean_ms", (0, 5)),
        (("rates stopped", "raw"), "stale", (8, 8)),
        (("rates stopped", "raw"), "mean_ms", (10_000, 10_100)),
    ],
)
def test_the_bands_that_carry_the_message_are_exactly_these(
    experiment: Experiment, cell: tuple[str, str], figure: str, band: tuple[float, float]
) -> None:
    [found] = [p for p in experiment.published if ((p.fault, p.client), p.figure) == (cell, figure)]

    assert (found.low, found.high) == band
    assert found.basis
