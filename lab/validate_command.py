"""`lab validate`: reads files as `run` would, and starts nothing."""

from collections.abc import Sequence
from pathlib import Path

from console import complain, say
from lab.errors import UsageError
from lab.hosts import check_hosts
from lab.run.plan import in_words, plan
from lab.spec.reading import read_experiment


def validate_command(files: Sequence[Path], allowed_hosts: Sequence[str] = ()) -> int:
    """Check each file and say what it plans or what is wrong; return 0, or 2 if any is wrong."""
    exit_code = 0
    for file in files:
        try:
            say(_plan_in_words(file, allowed_hosts))
        except UsageError as problem:
            complain(str(problem))
            exit_code = problem.exit_code
    return exit_code


def _plan_in_words(file: Path, allowed_hosts: Sequence[str]) -> str:
    experiment = read_experiment(file)
    check_hosts(experiment.system, allowed_hosts)
    return f"{file}: ok: {in_words(experiment, plan(experiment))}"
