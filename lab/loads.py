"""From an experiment's request and a cell to the load that is sent."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from lab.experiment import Experiment
from lab.plan import Cell
from lab.running import RunningSystem
from loadgen import Load, OutcomeRule

STEADY_STATE_REQUESTS = 20


def load_for(experiment: Experiment, cell: Cell, system: RunningSystem) -> Load:
    """Return the load of one run of *cell* against the running system."""
    request = experiment.load.request
    return Load(
        method=request.method,
        url=with_query(system.expand(request.url), cell.client.query),
        headers=dict(request.headers) | dict(cell.client.headers),
        body=request.body,
        requests=cell.requests,
        tasks=cell.tasks,
        timeout_s=experiment.load.timeout_s,
        outcome=OutcomeRule(
            json_field=experiment.outcome.json_field, classes=experiment.outcome.classes
        ),
    )


def steady_state_load(load: Load) -> Load:
    """Return the short load under which the healthy system must make no error."""
    return replace(load, requests=STEADY_STATE_REQUESTS)


def with_query(url: str, query: Mapping[str, str]) -> str:
    """Return *url* with the parameters of *query* appended to its own."""
    if not query:
        return url
    parts = urlsplit(url)
    own = f"{parts.query}&" if parts.query else ""
    return urlunsplit(parts._replace(query=own + urlencode(query)))
