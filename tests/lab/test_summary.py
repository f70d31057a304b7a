import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.results.outline import PlannedCell
from lab.results.summary import RunsError, Spread, summarise, write_summary
from tests.lab.runs_file import OUTLINE, run, table184_rows, write_runs


def _runs(folder: Path, *rows: dict[str, str]) -> Path:
    return write_runs(folder / "runs.csv", rows)


def test_a_cell_is_the_median_of_its_runs_with_the_smallest_and_the_largest(
    tmp_path: Path,
) -> None:
    rows = [run("none", "raw", fresh=fresh, stale=200 - fresh) for fresh in (190, 200, 197)]

    [cell] = summarise(_runs(tmp_path, *rows), OUTLINE, is_whole=False)

    assert (cell.name, cell.requests, cell.runs) == ("none / raw", 200, 3)
    assert cell.figures["fresh"] == Spread(median=197, low=190, high=200)
    assert cell.figures["stale"] == Spread(median=3, low=0, high=10)


def test_an_even_number_of_runs_has_the_middle_of_the_middle_two(tmp_path: Path) -> None:
    rows = [run("none", "raw", mean_ms=mean) for mean in (1, 2, 4, 100)]

    [cell] = summarise(_runs(tmp_path, *rows), OUTLINE, is_whole=False)

    assert cell.figures["mean_ms"].median == 3


def test_a_marked_run_is_counted_apart_and_never_averaged_in(tmp_path: Path) -> None:
    rows = [run("none", "raw", fresh=200), run("none", "raw", fresh=3, note="cut short")]

    [cell] = summarise(_runs(tmp_path, *rows), OUTLINE, is_whole=False)

    assert (cell.runs, cell.marked) == (1, 1)
    assert cell.figures["fresh"] == Spread(median=200, low=200, high=200)


def test_what_is_not_available_has_no_figure(tmp_path: Path) -> None:
    rows = [run("none", "raw", fresh=200, attempts_per_request="")]

    [cell] = summarise(_runs(tmp_path, *rows), OUTLINE, is_whole=False)

    assert "attempts_per_request" not in cell.figures
    assert "error" in cell.figures


def test_a_planned_cell_without_runs_is_there_and_says_so(tmp_path: Path) -> None:
    cells = tuple(PlannedCell(fault=name, client="raw") for name in ("none", "500 ms delay"))

    first, second = summarise(
        _runs(tmp_path, run("500 ms delay", "raw", fresh=1)), replace(OUTLINE, cells=cells)
    )

    assert (first.name, first.runs, dict(first.figures)) == ("none / raw", 0, {})
    assert (second.name, second.runs) == ("500 ms delay / raw", 1)


def test_a_share_is_taken_in_each_run_of_its_own_requests(tmp_path: Path) -> None:
    rows = [
        run("none", "raw", requests=100, fresh=50),
        run("none", "raw", requests=1000, fresh=1000),
        run("none", "raw", requests=10, fresh=6),
    ]

    [cell] = summarise(_runs(tmp_path, *rows), OUTLINE, is_whole=False)

    assert cell.shares["fresh"] == Spread(median=0.6, low=0.5, high=1)
    assert cell.requests == 100


@pytest.mark.parametrize("name", ["null", "NA", "007", "1e3", "True"])
def test_a_condition_keeps_its_name_whatever_it_looks_like(tmp_path: Path, name: str) -> None:
    [cell] = summarise(_runs(tmp_path, run(name, "raw", fresh=1)), OUTLINE, is_whole=False)

    assert cell.fault == name


@settings(max_examples=30, deadline=None)  # the first example imports pandas
@given(st.lists(st.integers(0, 200), min_size=1, max_size=9))
def test_the_median_lies_within_the_spread_whatever_the_order(
    tmp_path_factory: pytest.TempPathFactory, fresh: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    spreads = []
    for order in (fresh, sorted(fresh)):
        path = _runs(folder, *(run("none", "raw", fresh=each) for each in order))
        [cell] = summarise(path, OUTLINE, is_whole=False)
        spreads.append(cell.figures["fresh"])

    assert spreads[0] == spreads[1]
    assert min(fresh) == spreads[0].low <= spreads[0].median <= spreads[0].high == max(fresh)


@pytest.mark.parametrize(
    "content", ["", "fault,client\nnone,raw\n", "\0", '"', "a,b\n1,2,3\n4,5,6,7\n"]
)
def test_a_file_that_holds_no_runs_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(content)

    with pytest.raises(RunsError, match="is no file of runs") as raised:
        summarise(path, OUTLINE, is_whole=False)

    assert len(str(raised.value).splitlines()) == 1


def test_a_figure_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="many"):
        summarise(_runs(tmp_path, run("none", "raw", fresh="many")), OUTLINE, is_whole=False)


def test_the_summary_file_has_each_figure_with_its_ends_and_is_never_overwritten(
    tmp_path: Path,
) -> None:
    summaries = summarise(_runs(tmp_path, *table184_rows()), OUTLINE, is_whole=False)
    path = tmp_path / "summary.csv"

    write_summary(summaries, path, OUTLINE)

    assert b"\r" not in path.read_bytes()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    sick = rows[2]
    assert (sick["fault"], sick["client"]) == ("30 % replies 500", "resilient")
    assert (sick["requests"], sick["runs"]) == ("200", "5")
    assert (sick["fresh"], sick["fresh_min"], sick["fresh_max"]) == ("195", "192", "199")
    assert (rows[-1]["p95_ms"], rows[-1]["mean_ms"]) == ("", "10012.4")
    with pytest.raises(FileExistsError):
        write_summary(summaries, path, OUTLINE)
