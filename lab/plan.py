"""An experiment's cells in the order in which they run."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from lab.errors import UsageError
from lab.experiment import Client, Condition, Experiment, Override


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
    """One row of the table: a client under a condition, with its own numbers."""

    condition: Condition
    client: Client
    requests: int  # in one load, >= 1
    tasks: int  # that send them, >= 1
    repeats: int  # measured loads, >= 1
    warmup: int  # loads before them, >= 0

    @property
    def name(self) -> str:
        """For people and logs: the condition, then the client."""
        return f"{self.condition.name} / {self.client.name}"


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
        SelectionError: *only* names an unknown condition or client.
    """
    _check(only.faults, [each.name for each in experiment.conditions], kind="fault")
    clients = pick_clients(experiment, only)
    return tuple(
        _cell(experiment, condition, client, repeats)
        for condition in experiment.conditions
        if not only.faults or condition.name in only.faults
        for client in clients
    )


def pick_clients(experiment: Experiment, only: Selection) -> tuple[Client, ...]:
    """Return the clients that *only* picks, in the file's order.

    Raises:
        SelectionError: it names an unknown one.
    """
    _check(only.clients, [each.name for each in experiment.clients], kind="client")
    return tuple(
        client for client in experiment.clients if not only.clients or client.name in only.clients
    )


def _check(names: Iterable[str], known: list[str], *, kind: str) -> None:
    for name in names:
        if name not in known:
            meant = difflib.get_close_matches(name, known, n=1) or known
            choices = ", ".join(f'"{each}"' for each in meant)
            raise SelectionError(f'the experiment has no {kind} "{name}"; write {choices}')


def _cell(
    experiment: Experiment, condition: Condition, client: Client, repeats: int | None
) -> Cell:
    numbers = {
        "requests": experiment.load.requests,
        "tasks": experiment.load.tasks,
        "repeats": experiment.repeats,
        "warmup": experiment.warmup,
    }
    for override in experiment.overrides:
        if _matches(override, condition, client):
            numbers |= _numbers(override)
    if repeats is not None:
        numbers["repeats"] = repeats
    return Cell(condition=condition, client=client, **numbers)


def _matches(override: Override, condition: Condition, client: Client) -> bool:
    return override.fault in {None, condition.name} and override.client in {None, client.name}


def _numbers(override: Override) -> dict[str, int]:
    given = {
        "requests": override.requests,
        "tasks": override.tasks,
        "repeats": override.repeats,
        "warmup": override.warmup,
    }
    return {name: value for name, value in given.items() if value is not None}
