"""From an experiment's request and a cell to the loads that are sent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlencode, urlsplit, urlunsplit

from lab.run.plan import Cell
from lab.spec.clients import Client
from lab.spec.experiment import Experiment
from lab.spec.load import Request as RequestTemplate
from lab.spec.load import SteadyState
from loadgen import Closed, Load, Open, Request, Stage, StatusRule

STEADY_STATE_TASKS = 4  # of a load that has none of its own
_ANY_SUCCESS = StatusRule(statuses={"2xx": "ok"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """One of the loads of a run: the only one, or a burst of a timeline."""

    load: Load
    name: str = ""  # of a burst
    at_s: float = 0.0  # when it begins, or as soon as the one before has ended


class Expands(Protocol):
    """A running system, as far as a load has to know it."""

    def expand(self, template: str) -> str:
        """Fill in `{name.url}` and `{name.port}` of the system's services."""


def sends_of(experiment: Experiment, cell: Cell, system: Expands) -> tuple[Send, ...]:
    """Return the loads of one run of *cell* against the running system, in order."""
    bursts = cell.timeline.bursts if cell.timeline else ()
    if not bursts:
        return (Send(load=_load(experiment, cell, system, _shape(cell))),)
    shapes = (Closed(requests=burst.requests, tasks=burst.tasks) for burst in bursts)
    return tuple(
        Send(load=_load(experiment, cell, system, shape), name=burst.name, at_s=burst.at_s)
        for burst, shape in zip(bursts, shapes, strict=True)
    )


def _load(experiment: Experiment, cell: Cell, system: Expands, shape: Closed | Open) -> Load:
    return Load(
        requests=tuple(
            _request(each, cell.client, system.expand(each.url)) for each in experiment.load.mix
        ),
        shape=shape,
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
    if cell.timeline is not None:
        return Open(stages=cell.timeline.stages, max_connections=cell.timeline.connections)
    if cell.rate_per_s is not None:
        assert cell.planned_s is not None  # noqa: S101 - with a rate it is known
        return Open(stages=(Stage(duration_s=cell.planned_s, rate_per_s=cell.rate_per_s),))
    assert cell.tasks is not None  # noqa: S101 - without a rate there are tasks
    return Closed(requests=cell.requests, duration_s=cell.duration_s, tasks=cell.tasks)


def steady_state_load(
    experiment: Experiment, steady: SteadyState, cell: Cell, system: Expands
) -> Load:
    """Return the short load under which the healthy system must make no error."""
    is_open = cell.rate_per_s is not None or (cell.timeline and cell.timeline.stages)
    tasks = STEADY_STATE_TASKS if is_open else cell.tasks or STEADY_STATE_TASKS
    load = _load(experiment, cell, system, Closed(requests=steady.requests, tasks=tasks))
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
