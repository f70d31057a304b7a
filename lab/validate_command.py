"""`lab validate`: reads files as `run` would, and starts nothing."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lab.errors import UsageError
from lab.experiment import Experiment, Timeline
from lab.files import read_experiment
from lab.plan import plan


def validate_command(files: Sequence[Path]) -> int:
    """Check each file and say what it plans or what is wrong; return 0, or 2 if any is wrong."""
    exit_code = 0
    for file in files:
        try:
            print(_plan_in_words(file))
        except UsageError as problem:
            print(problem, file=sys.stderr)
            exit_code = problem.exit_code
    return exit_code


def _plan_in_words(file: Path) -> str:
    experiment = read_experiment(file)
    if experiment.timeline is not None:
        return f"{file}: ok: {_timeline_in_words(experiment, experiment.timeline)}"
    cells = plan(experiment)
    runs = sum(cell.repeats for cell in cells)
    requests = sum(cell.repeats * cell.requests for cell in cells)
    return f"{file}: ok: {len(cells)} cells, {runs} measured runs, {requests} requests in them"


def _timeline_in_words(experiment: Experiment, timeline: Timeline) -> str:
    runs = experiment.repeats * len(experiment.clients)
    once = sum(burst.requests for burst in timeline.bursts) or experiment.load.requests
    return (
        f"a timeline of {timeline.duration_s:g} s, {len(timeline.events)} events, {runs} runs, "
        f"{runs * once} requests in them"
    )
