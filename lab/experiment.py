"""What an experiment file says, as immutable values: load, clients, faults, expectations.

It has either conditions, each run with each client, or a timeline, run with each client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from lab.system import System
from loadgen import Stage

EMPTY: Mapping[str, str] = MappingProxyType({})
ERROR_CLASS = "error"  # the outcome of every reply that is in none of the named classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one virtual user sends; `url` is a template over `{service.url}`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocustWorkers:
    """Locust's processes, which send the loads in place of the lab's own generator."""

    here: int  # workers that the lab starts, >= 0
    elsewhere: int = 0  # workers that somebody starts on other machines, >= 0; one in all
    bind_host: str = "127.0.0.1"  # where Locust's master waits for them
    bind_port: int | None = None  # None: a free one


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A closed load: exactly `requests` requests, sent by `tasks` concurrent tasks."""

    request: Request
    requests: int  # >= 1
    tasks: int  # >= 1
    timeout_s: float = 60.0  # for one request, headers and body; longer than any policy under test
    locust: LocustWorkers | None = None  # None: the lab's own generator sends it


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRule:
    """A 2xx reply's class is the value of one JSON field; anything else is an error."""

    json_field: str
    classes: tuple[str, ...]  # in the order of the report's columns, `error` not among them


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What varies on the calling side: each request's query and headers, services' environment."""

    name: str
    query: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    env: Mapping[str, Mapping[str, str]] = field(  # service name -> its extra environment
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosFault:
    """A document for the service's own fault injector, in the wire's names and units."""

    kind: Literal["chaos"] = "chaos"
    service: str
    document: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFault:
    """What is done to the service's process.

    `pause`: SIGSTOP, its port accepts and says nothing. `stop`: SIGTERM, connections are refused.
    `kill`: SIGKILL, the same without a goodbye. Reverting resumes or starts it again.
    """

    kind: Literal["pause", "stop", "kill"]
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartFault:
    """The service is ended and started again once, and has forgotten what it did not store."""

    kind: Literal["restart"] = "restart"
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapFault:
    """The service is stopped and started again, over and over."""

    kind: Literal["flap"] = "flap"
    service: str
    down_s: float = 1.0  # > 0; from its end to its next start
    up_s: float = 1.0  # > 0; from the moment it is ready


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnFault:
    """Processes beside the service compute without end, each as much as one core can."""

    kind: Literal["burn"] = "burn"
    service: str
    cores: int | None = None  # >= 1; None: as many as the lab and its services may use


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFault:
    """A process beside the service holds memory and keeps touching it."""

    kind: Literal["memory"] = "memory"
    service: str
    mib: int  # >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesFault:
    """The service's processes may open few or no further file descriptors, sockets included."""

    kind: Literal["files"] = "files"
    service: str
    spare: int = 0  # >= 0; how many more than it has open when the fault begins


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushFault:
    """A backing Redis forgets all that it holds, once."""

    kind: Literal["flush"] = "flush"
    service: str


Fault = (
    ChaosFault
    | ProcessFault
    | RestartFault
    | FlapFault
    | BurnFault
    | MemoryFault
    | FilesFault
    | FlushFault
)
MOMENTARY = (RestartFault, FlushFault)  # done once it has been applied; nothing to revert
_BESIDE = (BurnFault, MemoryFault, FlushFault)  # leaves the process itself alone
_INSIDE = (ChaosFault, FilesFault)  # needs the process to be there


def go_together(one: Fault, other: Fault) -> bool:
    """Tell whether two faults can be on at once, each having its effect until it is reverted."""
    if one.service != other.service:
        return True
    if one.kind == other.kind:
        return False
    if isinstance(one, _BESIDE) or isinstance(other, _BESIDE):
        return True
    return isinstance(one, _INSIDE) and isinstance(other, _INSIDE)


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
    requests: int | None = None
    tasks: int | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A bound on a figure's median in every cell that matches.

    `figure` is an outcome class or `error` (as a share of requests, 0..1, if `is_share`, else a
    count), or one of `SPEED_FIGURES`.
    """

    figure: str
    comparison: Comparison
    value: float
    is_share: bool = False
    fault: str | None = None
    client: str | None = None


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
