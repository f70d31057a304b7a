"""What every interrupted run has to leave behind, and what it must not."""

import signal
from pathlib import Path

from tests.lab.small_experiment import LabProcess, rows

GONE_WITHIN_S = 5.0


def assert_nothing_is_left_or_lost(lab: LabProcess, number: signal.Signals, out: Path) -> None:
    done = lab.finish()
    if out.exists():  # else it ended while Python itself was starting
        assert done.returncode in ({-signal.SIGKILL, 0} if number == signal.SIGKILL else {130, 0})
        assert "Traceback" not in done.stderr
    assert lab.survivors_after(GONE_WITHIN_S) == []
    assert runs_on_disk(out) >= done.stderr.count(", run ")


def runs_on_disk(out: Path) -> int:
    """Count the rows of runs.csv, each of which must have all its requests."""
    if not (out / "small" / "latest" / "runs.csv").exists():
        return 0
    runs = rows(out / "small" / "latest" / "runs.csv")
    requests = rows(out / "small" / "latest" / "requests.csv.gz")
    for run in runs:
        own = [r for r in requests if (r["fault"], r["repeat"]) == (run["fault"], run["repeat"])]
        assert len(own) == int(run["requests"])
    return len(runs)
