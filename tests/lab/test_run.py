"""`lab run` as a process, on a real service."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.small_experiment import (
    EXPERIMENT,
    SYSTEM,
    LabProcess,
    rows,
    run_lab,
    write_experiment,
)

pytestmark = pytest.mark.integration

ONE_CELL = EXPERIMENT[: EXPERIMENT.index("  half fail")]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[LabProcess, str, Path]:
    """One run of the whole small experiment: the lab, what it said, its result folder."""
    folder = tmp_path_factory.mktemp("whole")
    lab = LabProcess("run", write_experiment(folder), "--out", folder / "out", "--seed", "7")
    done = lab.finish()
    assert done.returncode == 0, done.stderr
    return lab, done.stderr, folder / "out" / "small" / "latest"


def test_a_run_leaves_every_run_and_request_on_disk_and_no_process(
    whole_run: tuple[LabProcess, str, Path],
) -> None:
    lab, _, latest = whole_run
    runs, requests = rows(latest / "runs.csv"), rows(latest / "requests.csv.gz")
    manifest = json.loads((latest / "manifest.json").read_text())

    assert lab.survivors() == []
    assert [(run["fault"], run["repeat"]) for run in runs] == [
        (fault, repeat)
        for fault in ("none", "half fail", "slow", "paused", "stopped", "killed")
        for repeat in ("1", "2")
    ]
    for run in runs:
        assert int(run["USD"]) + int(run["error"]) == int(run["requests"])
        assert run["note"] == ""
    assert len(requests) == sum(int(run["requests"]) for run in runs)
    assert manifest["status"] == "finished"
    assert manifest["seed"] == 7
    assert 0 < manifest["loads_s"] < manifest["total_s"]


def test_each_fault_is_what_the_load_meets(whole_run: tuple[LabProcess, str, Path]) -> None:
    latest = whole_run[2]
    by_fault = {run["fault"]: run for run in rows(latest / "runs.csv")}
    errors = {
        (row["fault"], row["error"]) for row in rows(latest / "requests.csv.gz") if row["error"]
    }

    assert by_fault["none"]["USD"] == "40"
    assert 5 <= int(by_fault["half fail"]["USD"]) <= 35
    assert by_fault["half fail"]["attempts"] == "40"
    assert 20 <= float(by_fault["slow"]["mean_ms"]) <= 200
    assert by_fault["paused"]["error"] == "8"
    assert 300 <= float(by_fault["paused"]["mean_ms"]) <= 450
    assert by_fault["stopped"]["error"] == by_fault["killed"]["error"] == "40"
    assert float(by_fault["killed"]["mean_ms"]) < 100
    assert ("half fail", "status 500") in errors
    assert ("paused", "no complete reply in 0.3 s") in errors
    assert {what for fault, what in errors if fault == "stopped"} == {
        what for fault, what in errors if fault == "killed"
    }


def test_piped_progress_is_plain_lines(whole_run: tuple[LabProcess, str, Path]) -> None:
    said = whole_run[1]

    assert "\x1b" not in said
    assert "[1/12] none, direct, run 1: 40 USD, mean " in said


def test_a_seed_repeats_the_dice_of_a_fault(tmp_path: Path) -> None:
    """With one task the order of arrival is fixed, so the outcomes repeat to the letter."""
    serial = EXPERIMENT.replace("tasks: 4", "tasks: 1").replace("warmup: 1", "warmup: 0")
    file = write_experiment(tmp_path, serial)
    outcomes = []
    for folder, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        only = ("--only", "fault=half fail", "--repeats", "1")
        run_lab("run", file, "--out", tmp_path / folder, "--seed", seed, *only)
        requests = rows(tmp_path / folder / "small" / "latest" / "requests.csv.gz")
        outcomes.append([request["outcome"] for request in requests])

    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_a_second_run_stands_beside_the_first_and_latest_points_to_it(tmp_path: Path) -> None:
    file = write_experiment(tmp_path, ONE_CELL)
    run_lab("run", file, "--out", tmp_path / "out", "--repeats", "1")
    run_lab("run", file, "--out", tmp_path / "out", "--repeats", "1")
    folders = sorted(
        path.name for path in (tmp_path / "out" / "small").iterdir() if not path.is_symlink()
    )

    assert len(folders) == 2
    assert (tmp_path / "out" / "small" / "latest").readlink() == Path(folders[1])


def test_a_service_that_does_not_start_ends_the_run_with_its_last_words(tmp_path: Path) -> None:
    system = """\
services:
  rates: {run: "{python} -c 'raise SystemExit(\\"no luck today\\")'", ready: /health}
"""
    lab = LabProcess("run", write_experiment(tmp_path, ONE_CELL, system), "--out", tmp_path)
    done = lab.finish()

    assert done.returncode == 3
    assert "service rates ended with code 1 before it was ready" in done.stderr
    assert "no luck today" in done.stderr
    assert "Traceback" not in done.stderr
    assert lab.survivors() == []


def test_a_system_that_is_not_well_is_not_measured(tmp_path: Path) -> None:
    unknown_code = ONE_CELL.replace("rates/USD", "rates/XXX")
    done = run_lab("run", write_experiment(tmp_path, unknown_code), "--out", tmp_path)
    latest = tmp_path / "small" / "latest"

    assert done.returncode == 3
    assert "steady state does not hold" in done.stderr
    assert "status 404" in done.stderr
    assert not (latest / "runs.csv").exists()
    assert json.loads((latest / "manifest.json").read_text())["status"].startswith("failed: ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--only", "fault=nonne"], 'no fault "nonne"; write "none"'),
        (["--only", "colour=red"], "write fault=NAME or client=NAME"),
        (["--repeats", "0"], "must be a whole number from 1"),
    ],
)
def test_a_wrong_option_is_one_line_and_starts_nothing(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    file = write_experiment(tmp_path, ONE_CELL)
    done = run_lab("run", file, "--out", tmp_path / "out", *arguments)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_load_on_somebody_elses_host_is_refused(tmp_path: Path) -> None:
    foreign = ONE_CELL.replace("{rates.url}", "http://example.com")
    done = run_lab("run", write_experiment(tmp_path, foreign), "--out", tmp_path / "out")

    assert done.returncode == 2
    assert "example.com" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_results_folder_that_cannot_be_written_is_said_before_anything_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / "out").write_text("a file stands here")
    done = run_lab("run", write_experiment(tmp_path, ONE_CELL), "--out", tmp_path / "out")

    assert done.returncode == 2
    assert "choose another with --out" in done.stderr


def test_validate_says_what_a_run_would_do(tmp_path: Path) -> None:
    done = run_lab("validate", write_experiment(tmp_path))

    assert done.returncode == 0
    assert done.stdout.endswith(
        "small.yaml: ok: 6 cells, 12 measured runs; "
        "744 requests: 416 measured, 208 in warm-up, 120 in the steady state\n"
    )


def test_a_run_that_never_reached_the_sick_service_does_not_count(tmp_path: Path) -> None:
    """The load goes to one service, the fault to another, and the counter says so."""
    system = SYSTEM + SYSTEM.partition("\n")[2].replace("  rates:", "  other:")
    unreached = (
        EXPERIMENT[: EXPERIMENT.index("  half fail")] + "  far: [{chaos: other, delay: 9ms}]\n"
    )
    counted_on_other = system.replace("    attempts: {path: /stats, json: received}\n", "", 1)
    file = write_experiment(tmp_path, unreached, counted_on_other)
    done = run_lab("run", file, "--out", tmp_path, "--only", "fault=far", "--repeats", "1")
    [run] = rows(tmp_path / "small" / "latest" / "runs.csv")

    assert run["note"] == "no call has reached the sick service"
    assert done.returncode == 3


def test_a_fault_without_effect_is_no_fault(tmp_path: Path) -> None:
    nothing = ONE_CELL + "  nothing: [{chaos: rates, failure: 0}]\n"
    done = run_lab("run", write_experiment(tmp_path, nothing), "--out", tmp_path)

    assert done.returncode in {2, 3}
    assert "effect" in done.stderr


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis://127.0.0.1:99999/0", "Port out of range"),
        ("redis://127.0.0.1:abc/0", "is no URL of a Redis"),
        ("http://127.0.0.1", "is no URL of a Redis"),
        ("garbage", "is no URL of a Redis"),
        ("redis://:secret@127.0.0.1:99999/0", "REDIS_URL=redis://:***@127.0.0.1:99999"),
    ],
)
def test_a_wrong_redis_url_is_one_line_without_its_password(
    tmp_path: Path, url: str, complaint: str
) -> None:
    file = write_experiment(tmp_path, ONE_CELL, SYSTEM + "  redis: {backing: redis}\n")
    done = run_lab("run", file, "--out", tmp_path / "out", REDIS_URL=url)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_is_set_in_somebodys_shell_does_not_reach_a_service(tmp_path: Path) -> None:
    """CHAOS_TOKEN would lock the lab out of the injector, RETRIES would change a policy."""
    file = write_experiment(tmp_path, ONE_CELL + "  slow: [{chaos: rates, delay: 5ms}]\n")
    only = ("--only", "fault=slow", "--repeats", "1")
    shell = {"CHAOS_TOKEN": "locked", "LOG_LEVEL": "nonsense"}
    done = run_lab("run", file, "--out", tmp_path / "out", *only, **shell)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_table_that_nobody_reads_spoils_nothing(tmp_path: Path, unbuffered: str) -> None:
    file = write_experiment(tmp_path, ONE_CELL)
    command = f"{sys.executable} -m lab run {file} --out {tmp_path}/out --repeats 1 >/dev/full"
    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert done.returncode == 0
    assert "the table cannot be printed" in done.stderr
    assert (tmp_path / "out" / "small" / "latest" / "table.md").exists()


def test_an_experiments_name_cannot_lead_out_of_the_results(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = write_experiment(tmp_path, ONE_CELL).rename(tmp_path / "...yaml")
    run_lab("run", file, "--out", tmp_path / "in" / "out", "--repeats", "1")

    assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]
    assert (tmp_path / "in" / "out" / "experiment" / "latest" / "runs.csv").exists()
