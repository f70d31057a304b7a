"""What the figures of a result are of: all that summary and report know of an experiment.

It is kept in the result's manifest, so that a report can be made again from the folder alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lab.results.touches import COUNTING
from lab.spec.expectations import Expectation, PublishedFigure
from lab.spec.experiment import Experiment
from lab.spec.faults import Fault, asked_share, label
from lab.spec.phases import phase_names, row_names
from lab.spec.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOutline:
    """A fault that may tell what it touched."""

    label: str  # for people: what it is, and where
    asked_share: float | None  # of requests or connections; None: all, or not known


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutline:
    """A row with figures of its own: a condition, or an event of a timeline."""

    name: str
    faults: tuple[FaultOutline, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOutline:
    """A client, with what it is one combination of if it belongs to a sweep."""

    name: str
    sweep: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineOutline:
    """Which rows a timeline has besides the whole, and what it is held to."""

    phases: tuple[str, ...]  # in order, each once; none of bursts
    bursts: tuple[str, ...]
    events: tuple[RowOutline, ...]
    has_objective: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A row with a client that is to be measured."""

    fault: str
    client: str
    requests: int | None = None  # in one run; None: not planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """An experiment, as far as its figures go."""

    title: str
    classes: tuple[str, ...]  # outcome classes without `error`; the first is what one hopes for
    requests: tuple[str, ...] = ()  # names of a mix's
    conditions: tuple[RowOutline, ...] = ()
    timeline: TimelineOutline | None = None
    clients: tuple[ClientOutline, ...] = ()
    cells: tuple[PlannedCell, ...] = ()  # in the order of the table
    published: tuple[PublishedFigure, ...] = ()
    expectations: tuple[Expectation, ...] = ()

    @property
    def most_faults(self) -> int:
        """Of how many faults a row can tell what they touched."""
        rows = self.timeline.events if self.timeline else self.conditions
        return max((len(row.faults) for row in rows), default=0)


def outline_of(experiment: Experiment, cells: Sequence[PlannedCell]) -> Outline:
    """Return the outline of an experiment of which *cells* are to be run.

    Args:
        experiment: any.
        cells: of a table; of a timeline one for each client, whatever its row.
    """
    timeline = experiment.timeline
    if timeline is not None:
        clients = dict.fromkeys(cell.client for cell in cells)
        rows = row_names(timeline)
        cells = [PlannedCell(fault=row, client=client) for row in rows for client in clients]
    return Outline(
        title=experiment.title,
        classes=experiment.outcome.classes,
        requests=experiment.load.names,
        conditions=tuple(_row(each.name, each.faults) for each in experiment.conditions),
        timeline=None if timeline is None else _timeline(timeline),
        clients=tuple(
            ClientOutline(name=each.name, sweep=each.sweep, settings=dict(each.settings))
            for each in experiment.clients
        ),
        cells=tuple(cells),
        published=experiment.published,
        expectations=experiment.expectations,
    )


def _timeline(timeline: Timeline) -> TimelineOutline:
    return TimelineOutline(
        phases=() if timeline.bursts else phase_names(timeline),
        bursts=tuple(burst.name for burst in timeline.bursts),
        events=tuple(_row(event.name, event.faults) for event in timeline.events),
        has_objective=timeline.objective is not None,
    )


def _row(name: str, faults: Sequence[Fault]) -> RowOutline:
    return RowOutline(
        name=name,
        faults=tuple(
            FaultOutline(label=label(each), asked_share=asked_share(each))
            for each in faults
            if isinstance(each, COUNTING)
        ),
    )
