"""An experiment's cells in the order in which they run, and how much they send.

A cell begins with the system in a known state. In a table it is a client under a condition, whose
faults are on before its loads; in a timeline it is one run with a client, and faults come and go.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lab.errors import UsageError
from lab.spec.clients import Client
from lab.spec.expectations import Override
from lab.spec.experiment import Experiment
from lab.spec.faults import Condition, Fault
from lab.spec.timeline import WHOLE, Timeline


class SelectionError(UsageError):
    """A selection of cells names what the experiment does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which cells to run; an empty tuple of names picks all."""

    faults: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A client under a condition, or in one run of a timeline, with its own numbers."""

    condition: Condition  # of a timeline: the whole, and no faults
    client: Client
    repeats: int  # measured loads, >= 1
    warmup: int = 0  # loads before them, >= 0
    first_repeat: int = 1  # the number of the first measured load
    timeline: Timeline | None = None  # says what is sent when, and which faults are on
    requests: int | None = None  # in one load, >= 1; None: as many as fit into duration_s
    duration_s: float | None = None
    tasks: int | None = None  # that send them, >= 1; None for an open load, which has a rate
    rate_per_s: float | None = None

    @property
    def name(self) -> str:
        """For people and logs: the condition, then the client."""
        return f"{self.condition.name} / {self.client.name}"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults that are on at some time."""
        events = self.timeline.events if self.timeline else ()
        return (*self.condition.faults, *(fault for event in events for fault in event.faults))

    @property
    def planned_requests(self) -> int | None:
        """How many requests one load has; None if that depends on how fast they are answered."""
        if self.timeline is not None and self.timeline.bursts:
            return sum(burst.requests for burst in self.timeline.bursts)
        if self.requests is None and self.rate_per_s is not None and self.duration_s is not None:
            return round(self.rate_per_s * self.duration_s)
        return self.requests

    @property
    def planned_s(self) -> float | None:
        """How long requests are sent in one load; None if that depends on the answers."""
        if self.timeline is not None:
            return self.timeline.duration_s
        if self.requests is not None and self.rate_per_s is not None:
            return self.requests / self.rate_per_s
        return self.duration_s


def parse_selection(filters: Iterable[str]) -> Selection:
    """Return the selection that filters such as `fault=none` and `client=raw` ask for.

    Filters of one kind widen the selection, filters of both kinds narrow it.

    Raises:
        SelectionError: a filter is neither `fault=NAME` nor `client=NAME`.
    """
    picked: dict[str, list[str]] = {"fault": [], "client": []}
    for one in filters:
        kind, equals, name = one.partition("=")
        if not equals or kind not in picked or not name:
            raise SelectionError(f'"{one}" selects nothing; write fault=NAME or client=NAME')
        picked[kind].append(name)
    return Selection(faults=tuple(picked["fault"]), clients=tuple(picked["client"]))


def plan(
    experiment: Experiment, *, only: Selection = EVERYTHING, repeats: int | None = None
) -> tuple[Cell, ...]:
    """Return the cells to run: conditions in the file's order, in each the clients in theirs.

    Args:
        experiment: whose overrides apply in the file's order, a later one over an earlier.
        only: leaves out all cells that it does not pick.
        repeats: >= 1; takes the place of every cell's own number of measured loads.

    Raises:
        SelectionError: *only* names an unknown condition or client, or a part of a timeline.
    """
    clients = _pick_clients(experiment, only)
    if experiment.timeline is not None:
        if only.faults:
            raise SelectionError("a timeline is run whole; pick clients only, with client=NAME")
        numbers = range(1, (repeats or experiment.repeats) + 1)
        return tuple(_run(experiment, client, number) for client in clients for number in numbers)
    _check(only.faults, [each.name for each in experiment.conditions], kind="fault")
    return tuple(
        _cell(experiment, condition, client, repeats)
        for condition in experiment.conditions
        if not only.faults or condition.name in only.faults
        for client in clients
    )


def _pick_clients(experiment: Experiment, only: Selection) -> tuple[Client, ...]:
    """Return the clients that *only* picks, by their names or their sweep's, in order."""
    sweeps = [each.sweep for each in experiment.clients if each.sweep]
    names = [each.name for each in experiment.clients]
    _check(only.clients, list(dict.fromkeys([*names, *sweeps])), kind="client")
    return tuple(
        client
        for client in experiment.clients
        if not only.clients or {client.name, client.sweep} & set(only.clients)
    )


def _check(names: Iterable[str], known: list[str], *, kind: str) -> None:
    for name in names:
        if name not in known:
            meant = difflib.get_close_matches(name, known, n=1) or known
            choices = ", ".join(f'"{each}"' for each in meant)
            raise SelectionError(f'the experiment has no {kind} "{name}"; write {choices}')


def _run(experiment: Experiment, client: Client, number: int) -> Cell:
    """Return one run of the timeline."""
    load = experiment.load
    return Cell(
        condition=Condition(name=WHOLE),
        client=client,
        requests=load.requests,
        tasks=load.tasks,
        repeats=1,
        first_repeat=number,
        timeline=experiment.timeline,
    )


def _cell(
    experiment: Experiment, condition: Condition, client: Client, repeats: int | None
) -> Cell:
    load = experiment.load
    cell = Cell(
        condition=condition,
        client=client,
        requests=load.requests,
        duration_s=load.duration_s,
        tasks=load.tasks,
        rate_per_s=load.rate_per_s,
        repeats=experiment.repeats,
        warmup=experiment.warmup,
    )
    for override in experiment.overrides:
        if _matches(override, condition, client):
            cell = _overridden(cell, override)
    return cell if repeats is None else replace(cell, repeats=repeats)


def _matches(override: Override, condition: Condition, client: Client) -> bool:
    return override.fault in {None, condition.name} and override.client in {None, client.name}


def _overridden(cell: Cell, override: Override) -> Cell:
    if override.requests is not None or override.duration_s is not None:
        cell = replace(cell, requests=override.requests, duration_s=override.duration_s)
    if override.tasks is not None or override.rate_per_s is not None:
        cell = replace(cell, tasks=override.tasks, rate_per_s=override.rate_per_s)
    return replace(
        cell,
        repeats=cell.repeats if override.repeats is None else override.repeats,
        warmup=cell.warmup if override.warmup is None else override.warmup,
    )


def in_words(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return how much will be done, for instance `2 cells, 10 measured runs; 440 requests: …`."""
    runs = sum(cell.repeats for cell in cells)
    if (timeline := experiment.timeline) is not None:
        what = (
            f"a timeline of {timeline.duration_s:g} s, {len(timeline.events)} events, {runs} runs"
        )
    else:
        what = f"{len(cells)} cells, {runs} measured runs"
    return f"{what}; {_volume_in_words(experiment, cells)}"


def _volume_in_words(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return how many requests are sent, and for what.

    What is sent for a time, closed, comes on top, and is told in words.
    """
    steady = 0 if experiment.steady_state is None else experiment.steady_state.requests
    numbers = {
        "measured": sum(cell.repeats * (cell.planned_requests or 0) for cell in cells),
        "in warm-up": sum(cell.warmup * (cell.planned_requests or 0) for cell in cells),
        "in the steady state": len(cells) * steady,
    }
    parts = [f"{number} {what}" for what, number in numbers.items() if number]
    at_least = ""
    if any(cell.planned_requests is None for cell in cells):
        at_least = "at least "
        parts.append("as many as fit into the loads that last for a time")
    return f"{at_least}{sum(numbers.values())} requests: {', '.join(parts)}"
