"""What an experiment file says, as immutable values: load, clients, conditions, expectations.

It has either conditions, each run with each client, or a timeline, run with each client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from lab.fault_kinds import Fault, LinkFault
from lab.system import Link, System
from loadgen import OutcomeRule, Stage, TimeOuts

EMPTY: Mapping[str, str] = MappingProxyType({})
ERROR_CLASS = "error"  # the outcome of every reply that is in none of the named classes
GENERATOR_ERROR = "generator_error"  # of every request that the generator itself could not send


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One kind of request that virtual users send; `url` is a template over `{service.url}`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    body: str | None = None
    bodies: tuple[str, ...] = ()  # in place of `body`, in turn
    name: str = ""  # empty for the only one
    weight: float = 1.0  # its share of the mix, > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocustWorkers:
    """Locust's processes, which send the loads in place of the lab's own generator."""

    here: int  # workers that the lab starts, >= 0
    elsewhere: int = 0  # workers that somebody starts on other machines, >= 0; one in all
    bind_host: str = "127.0.0.1"  # where Locust's master waits for them
    bind_port: int | None = None  # None: a free one


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent, how much of it and when.

    Closed, `tasks` send one request after another; open, requests fall due at `rate_per_s`,
    whatever became of those before. Just one of the two is given, and either how many `requests`
    there are or for how long (`duration_s`) they are sent.
    """

    mix: tuple[Request, ...]  # at least one
    requests: int | None = None  # >= 1
    duration_s: float | None = None  # > 0
    tasks: int | None = None  # >= 1
    rate_per_s: float | None = None  # > 0
    time_outs: TimeOuts = field(  # of one request; longer than those of any policy under test
        default_factory=lambda: TimeOuts(connect_s=60.0, whole_s=60.0)
    )
    keep_alive: bool = True  # whether connections are used again; else each request has its own
    locust: LocustWorkers | None = None  # None: the lab's own generator sends it

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the requests of a mix; none for a load of one request."""
        return tuple(request.name for request in self.mix) if len(self.mix) > 1 else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """The requests with which the healthy system is tried before each cell, none of which may fail.

    They have a second use: a circuit breaker's window is not empty when the fault comes.
    """

    requests: int = 20  # >= 1
    request: Request | None = None  # of its own, which any 2xx answers; None: those of the load


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What varies on the calling side: each request's query and headers, services' environment."""

    name: str
    query: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    env: Mapping[str, Mapping[str, str]] = field(  # service name -> its extra environment
        default_factory=lambda: MappingProxyType({})
    )
    sweep: str = ""  # the sweep that it is one combination of; empty: of none
    settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)  # of that, as written


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A named row of the table: the faults that are on together; none for the healthy system."""

    name: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Other numbers for the cells that match; None leaves the experiment's own number."""

    fault: str | None = None  # a condition's name; None matches each
    client: str | None = None
    requests: int | None = None  # takes the place of a duration, and the other way round
    duration_s: float | None = None
    tasks: int | None = None  # take the place of a rate, and the other way round
    rate_per_s: float | None = None
    repeats: int | None = None
    warmup: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A figure as its source printed it, and the band in which ours is taken to agree with it."""

    fault: str
    client: str
    figure: str  # an outcome class (a count), `error`, `mean_ms`, `requests_per_s`, ...
    published: float
    low: float  # the band's ends belong to it
    high: float
    basis: str  # how the band was chosen


Comparison = Literal["==", "<=", ">=", "<", ">"]


SPEED_FIGURES = (  # columns of a run beside its outcome classes that may be bounded
    "mean_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "requests_per_s",
    "attempts_per_request",
)
REQUEST_FIGURES = ("mean_ms", "p95_ms")  # of each request of a mix, beside its classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A bound on a figure's median in every cell that matches; none and all are of every run.

    `figure` is an outcome class or `error` (as a share of requests, 0..1, if `is_share`, else a
    count), or one of `SPEED_FIGURES`.
    """

    figure: str
    comparison: Comparison
    value: float
    is_share: bool = False
    fault: str | None = None
    client: str | None = None

    @property
    def says_none(self) -> bool:
        """Whether it allows nothing at all, in any run: one of five would not move the median."""
        return self.value == 0 and self.comparison in {"==", "<="}

    @property
    def says_all(self) -> bool:
        """Whether it wants all requests of all runs."""
        return self.is_share and self.value == 1 and self.comparison in {"==", ">="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Faults that come together at one moment of a timeline and go together at another."""

    name: str
    at_s: float  # >= 0, from the timeline's beginning
    end_s: float  # > at_s
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """A closed load at one moment of a timeline."""

    name: str
    at_s: float  # >= 0
    requests: int  # >= 1
    tasks: int  # >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Which share of all replies must be good; what may be missing from all is the error budget."""

    share: float  # in (0, 1)
    classes: tuple[str, ...]  # a reply of another class is not good
    within_s: float | None = None  # nor is one that comes later, from when its request was due


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A load over time while faults come and go: an open load of `stages`, or `bursts`."""

    duration_s: float  # > 0; no event or burst begins later, and every event is over by then
    stages: tuple[Stage, ...] = ()
    bursts: tuple[Burst, ...] = ()  # in the order of their moments
    connections: int = 1000  # >= 1; at most so many requests of an open load are under way
    events: tuple[Event, ...] = ()  # in the order of their moments
    objective: Objective | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment file, validated: every name in it exists, every number is in range."""

    path: Path
    title: str
    system: System
    load: Load
    outcome: OutcomeRule
    clients: tuple[Client, ...]
    conditions: tuple[Condition, ...] = ()
    timeline: Timeline | None = None  # instead of conditions
    steady_state: SteadyState | None = field(default_factory=SteadyState)  # None: not tried
    warmup: int = 0  # loads before the first measured one, in each cell; >= 0
    repeats: int = 1  # measured loads, in each cell; >= 1
    overrides: tuple[Override, ...] = ()
    reference: Path | None = None  # the file of the published figures
    published: tuple[PublishedFigure, ...] = ()
    expectations: tuple[Expectation, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending: the folder of its results."""
        return self.path.stem

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that its faults make sick, in order."""
        events = self.timeline.events if self.timeline else ()
        groups = (*(each.faults for each in self.conditions), *(each.faults for each in events))
        faults = (fault for group in groups for fault in group)
        return tuple(sorted({fault.link for fault in faults if isinstance(fault, LinkFault)}))
