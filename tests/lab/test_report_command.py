"""`lab report`: a run that is on disk is reported again, from its folder alone."""

import json
import shutil
from pathlib import Path

import pytest

from tests.lab.small_experiment import EXPERIMENT, run_lab, write_experiment

pytestmark = pytest.mark.integration

TWO_CELLS = EXPERIMENT[: EXPERIMENT.index("  slow")] + "expect: [{fault: none, error: 0 %}]\n"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    """The folder of a run that is moved away from all it was made of, its table, its exit code."""
    folder = tmp_path_factory.mktemp("report")
    file = write_experiment(folder, TWO_CELLS)
    done = run_lab("run", file, "--out", folder / "out", "--repeats", "2")
    kept = tmp_path_factory.mktemp("kept") / "run"
    shutil.move((folder / "out" / "small" / "latest").resolve(), kept)
    file.unlink()
    return kept, done.stdout, done.returncode


def test_the_same_table_and_exit_code_come_from_the_folder_alone(
    kept: tuple[Path, str, int],
) -> None:
    folder, table, exit_code = kept
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run_lab("report", folder)

    assert (done.stdout, done.stderr, done.returncode) == (table, "", exit_code)
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


def test_it_can_be_had_in_the_other_language(kept: tuple[Path, str, int]) -> None:
    assert "Клієнт" in run_lab("report", kept[0], "--lang", "uk").stdout


def test_what_is_no_result_is_one_line(tmp_path: Path, kept: tuple[Path, str, int]) -> None:
    nothing = run_lab("report", tmp_path)
    old = shutil.copytree(kept[0], tmp_path / "old")
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["outline"]
    (old / "manifest.json").write_text(json.dumps(manifest | {"format_version": 1}))
    without_outline = run_lab("report", old)
    (old / "manifest.json").write_text("{")
    damaged = run_lab("report", old)
    cut = shutil.copytree(kept[0], tmp_path / "cut")
    (cut / "runs.csv").write_text("fault,client\nnone,raw\n")
    without_columns = run_lab("report", cut)

    assert nothing.stderr == f"{tmp_path} has no runs.csv; name a folder that `lab run` has left\n"
    assert without_outline.stderr.startswith(
        "the result has format version 1, and this lab reads 2"
    )
    assert damaged.stderr.startswith(f"{old} is no result of a run (")
    assert without_columns.stderr.startswith(f"{cut}/runs.csv is no file of runs: ")
    for done in (nothing, without_outline, damaged, without_columns):
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
