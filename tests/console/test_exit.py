"""How commands end when their output cannot be written: one exit code, one line, no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
# What Python itself makes of a stream that cannot be flushed at its exit.
PYTHONS_OWN = 120
COMMANDS = (
    "lab",
    "loadgen",
    "fault_proxy",
    "rates_api",
    "front",
    "examples.resilience_demo",
    "examples.resilience_demo.service",
    "benchmarks.bakeoff",
)


def shell(line: str, *, unbuffered: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run a line of bash as in a bare environment."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
    if unbuffered:
        env["PYTHONUNBUFFERED"] = "1"
    return subprocess.run(
        ["bash", "-c", line.replace("python ", f"{sys.executable} ")],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_help_that_cannot_be_written_is_one_line_and_an_exit_code(command: str) -> None:
    told = shell(f"python -m {command} --help >/dev/full")
    untold = shell(f"python -m {command} --help >/dev/full 2>&1")

    assert told.stderr.count("\n") == 1
    assert "the output cannot be written (No space left on device)" in told.stderr
    assert told.returncode == untold.returncode in {1, 2}


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    ("arguments", "redirection", "exit_code"),
    [
        ("lab validate experiments/table184.yaml", ">/dev/full", 2),
        ("lab validate experiments/table184.yaml", ">/dev/full 2>&1", 2),
        ("lab validate experiments/table184.yaml", "2>/dev/full", 0),
        ("lab validate experiments/table184.yaml", ">&-", 0),
        ("lab validate experiments/table184.yaml", ">&- 2>&-", 0),
        ("lab validate README.md", "2>/dev/full", 2),
        ("lab validate README.md", ">/dev/full 2>&1", 2),
        ("lab nonsense", "2>/dev/full", 2),
        ("lab nonsense", "2>&-", 2),
        ("loadgen", "2>/dev/full", 2),
        ("loadgen", ">/dev/full 2>&1", 2),
        ("loadgen http://127.0.0.1:9/ -n 1 --quiet", ">/dev/full", 2),
        ("loadgen http://127.0.0.1:9/ -n 1 --quiet", "2>/dev/full", 3),
        ("fault_proxy", "2>/dev/full", 2),
        ("rates_api --port 99999", ">/dev/full 2>&1", 2),
    ],
)
def test_an_exit_code_does_not_depend_on_who_listens(
    arguments: str, redirection: str, exit_code: int, unbuffered: bool
) -> None:
    done = shell(f"python -m {arguments} {redirection}", unbuffered=unbuffered)

    assert done.returncode == exit_code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_who_has_seen_enough_is_told_nothing(unbuffered: bool) -> None:
    files = " ".join(["experiments/table184.yaml"] * 40)
    done = shell(
        f"python -m lab validate {files} | head -n 1; exit ${{PIPESTATUS[0]}}",
        unbuffered=unbuffered,
    )

    assert (done.returncode, done.stderr) == (141, "")
    assert done.stdout.count("\n") == 1


def test_a_failure_keeps_its_exit_code_where_the_output_is_lost_as_well() -> None:
    done = shell("python -m lab validate experiments/table184.yaml README.md >/dev/full")

    assert done.returncode == 2 != PYTHONS_OWN
