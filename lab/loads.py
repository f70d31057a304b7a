"""From an experiment's request and a cell to the load that is sent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlencode, urlsplit, urlunsplit

from lab.experiment import Experiment
from lab.plan import Cell
from loadgen import Closed, JsonFieldRule, Load, Request, TimeOuts

STEADY_STATE_REQUESTS = 20
STEADY_STATE_TASKS = 4  # of a load that has none of its own


class Expands(Protocol):
    """A running system, as far as a load has to know it."""

    def expand(self, template: str) -> str:
        """Fill in `{name.url}` and `{name.port}` of the system's services."""


def load_for(experiment: Experiment, cell: Cell, system: Expands) -> Load:
    """Return the load of one run of *cell* against the running system."""
    request = experiment.load.request
    timeout_s = experiment.load.timeout_s
    return Load(
        requests=(
            Request(
                method=request.method,
                url=with_query(system.expand(request.url), cell.client.query),
                headers=dict(request.headers) | dict(cell.client.headers),
                body=request.body,
            ),
        ),
        shape=Closed(requests=cell.requests, tasks=cell.tasks),
        # One limit on all of a request, connecting included: what a patient user would wait.
        time_outs=TimeOuts(connect_s=timeout_s, whole_s=timeout_s),
        outcome=JsonFieldRule(
            json_field=experiment.outcome.json_field, classes=experiment.outcome.classes
        ),
    )


def steady_state_load(load: Load) -> Load:
    """Return the short load under which the healthy system must make no error."""
    tasks = load.shape.tasks if isinstance(load.shape, Closed) else STEADY_STATE_TASKS
    return replace(load, shape=Closed(requests=STEADY_STATE_REQUESTS, tasks=tasks))


def with_query(url: str, query: Mapping[str, str]) -> str:
    """Return *url* with the parameters of *query* appended to its own."""
    if not query:
        return url
    parts = urlsplit(url)
    own = f"{parts.query}&" if parts.query else ""
    return urlunsplit(parts._replace(query=own + urlencode(query)))
