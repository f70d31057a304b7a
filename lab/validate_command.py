"""`lab validate`: reads files as `run` would, and starts nothing."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lab.errors import UsageError
from lab.files import read_experiment
from lab.hosts import check_hosts
from lab.plan import plan


def validate_command(files: Sequence[Path], allowed_hosts: Sequence[str] = ()) -> int:
    """Check each file and say what it plans or what is wrong; return 0, or 2 if any is wrong."""
    exit_code = 0
    for file in files:
        try:
            print(_plan_in_words(file, allowed_hosts))
        except UsageError as problem:
            print(problem, file=sys.stderr)
            exit_code = problem.exit_code
    return exit_code


def _plan_in_words(file: Path, allowed_hosts: Sequence[str]) -> str:
    experiment = read_experiment(file)
    check_hosts(experiment.system, allowed_hosts)
    cells = plan(experiment)
    runs = sum(cell.repeats for cell in cells)
    requests = sum(cell.repeats * cell.requests for cell in cells)
    return f"{file}: ok: {len(cells)} cells, {runs} measured runs, {requests} requests in them"
