"""From an experiment's request and a cell to the load that is sent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlencode, urlsplit, urlunsplit

from lab.plan import Cell
from lab.spec.clients import Client
from lab.spec.experiment import Experiment
from lab.spec.load import Request as RequestTemplate
from lab.spec.load import SteadyState
from loadgen import Closed, Load, Open, Request, Stage, StatusRule

STEADY_STATE_TASKS = 4  # of a load that has none of its own
_ANY_SUCCESS = StatusRule(statuses={"2xx": "ok"})


class Expands(Protocol):
    """A running system, as far as a load has to know it."""

    def expand(self, template: str) -> str:
        """Fill in `{name.url}` and `{name.port}` of the system's services."""


def load_for(experiment: Experiment, cell: Cell, system: Expands) -> Load:
    """Return the load of one run of *cell* against the running system."""
    return Load(
        requests=tuple(
            _request(each, cell.client, system.expand(each.url)) for each in experiment.load.mix
        ),
        shape=_shape(cell),
        time_outs=experiment.load.time_outs,
        keep_alive=experiment.load.keep_alive,
        outcome=experiment.outcome,
    )


def _request(request: RequestTemplate, client: Client, url: str) -> Request:
    return Request(
        method=request.method,
        url=with_query(url, client.query),
        headers=dict(request.headers) | dict(client.headers),
        body=request.body,
        bodies=request.bodies,
        name=request.name,
        weight=request.weight,
    )


def _shape(cell: Cell) -> Closed | Open:
    if cell.rate_per_s is not None:
        assert cell.planned_s is not None  # noqa: S101 - with a rate it is known
        return Open(stages=(Stage(duration_s=cell.planned_s, rate_per_s=cell.rate_per_s),))
    assert cell.tasks is not None  # noqa: S101 - without a rate there are tasks
    return Closed(requests=cell.requests, duration_s=cell.duration_s, tasks=cell.tasks)


def steady_state_load(
    experiment: Experiment, steady: SteadyState, cell: Cell, system: Expands
) -> Load:
    """Return the short load under which the healthy system must make no error."""
    shape = Closed(requests=steady.requests, tasks=cell.tasks or STEADY_STATE_TASKS)
    load = replace(load_for(experiment, cell, system), shape=shape)
    if steady.request is None:
        return load
    own = _request(steady.request, cell.client, system.expand(steady.request.url))
    return replace(load, requests=(own,), outcome=_ANY_SUCCESS)


def with_query(url: str, query: Mapping[str, str]) -> str:
    """Return *url* with the parameters of *query* appended to its own."""
    if not query:
        return url
    parts = urlsplit(url)
    own = f"{parts.query}&" if parts.query else ""
    return urlunsplit(parts._replace(query=own + urlencode(query)))
