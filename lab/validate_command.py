"""`lab validate`: reads files as `run` would, and starts nothing."""

from collections.abc import Sequence
from pathlib import Path

from console import complain, say
from lab.errors import UsageError
from lab.experiment import Experiment, Timeline
from lab.files import read_experiment
from lab.hosts import check_hosts
from lab.plan import plan


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
    if experiment.timeline is not None:
        return f"{file}: ok: {_timeline_in_words(experiment, experiment.timeline)}"
    cells = plan(experiment)
    runs = sum(cell.repeats for cell in cells)
    planned = [(cell.repeats, cell.planned_requests) for cell in cells]
    requests = sum(repeats * requests for repeats, requests in planned if requests is not None)
    more = " and as many as fit" if any(requests is None for _, requests in planned) else ""
    size = f"{len(cells)} cells, {runs} measured runs, {requests} requests{more} in them"
    return f"{file}: ok: {size}"


def _timeline_in_words(experiment: Experiment, timeline: Timeline) -> str:
    runs = experiment.repeats * len(experiment.clients)
    once = sum(burst.requests for burst in timeline.bursts) or experiment.load.requests or 0
    return (
        f"a timeline of {timeline.duration_s:g} s, {len(timeline.events)} events, {runs} runs, "
        f"{runs * once} requests in them"
    )
