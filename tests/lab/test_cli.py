"""The command line itself: what it imports, refuses and survives."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.small_experiment import run_lab, write_experiment

HEAVY = {"pandas", "numpy", "locust", "rich", "httpx", "aiohttp", "ruamel", "fastapi", "pydantic"}


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from lab.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    text, _, modules = done.stdout.rstrip().rpartition("\n")

    assert "exit codes:" in text
    assert HEAVY & set(modules.split()) == set()


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_wrong_file_is_one_line_with_its_place_and_starts_nothing(
    tmp_path: Path, command: str
) -> None:
    file = write_experiment(tmp_path, "title: x\nsystem: system.yaml\nrequests: on\n")
    extra = ["--out", str(tmp_path / "out")] if command == "run" else []
    done = run_lab(command, file, *extra)
    first = done.stderr.splitlines()[0]

    assert done.returncode == 2
    assert first.startswith(f"{file}:")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_validate_checks_every_file_even_after_a_wrong_one(tmp_path: Path) -> None:
    good = write_experiment(tmp_path)
    done = run_lab("validate", tmp_path / "missing.yaml", good)

    assert done.returncode == 2
    assert "missing.yaml" in done.stderr
    assert f"{good}: ok: 6 cells" in done.stdout


def test_no_command_is_a_usage_error() -> None:
    assert run_lab().returncode == 2
