"""What a load is: its requests, how many of them and when, and the classes of reply."""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any

from loadgen.outcomes import OutcomeRule, rule_from_document, rule_to_document
from loadgen.schedule import Stage, check_above_0, due_moments
from loadgen.url import parse_url

MOST_REQUESTS = 65_535  # that a sample can point to
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})
_TOKEN = frozenset("!#$%&'*+.^_`|~-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, sent again and again.

    Attributes:
        url: http, https, or http+unix with the socket's path quoted as its host
            (`http+unix://%2Frun%2Fx.sock/path`); absolute.
        headers: sent as given, beside `Host`, `User-Agent` and what frames the body.
        body: sent as UTF-8.
        bodies: in place of `body`, one after another in turn, from the first again after the last.
        name: for people; may be empty.
        weight: its share among the requests of a load, > 0.

    Raises:
        ValueError: the URL, method, a header or the weight cannot be sent, or both `body` and
            `bodies` are given.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str | None = None
    bodies: tuple[str, ...] = ()
    name: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        parse_url(self.url)
        if not self.method or not _TOKEN.issuperset(self.method):
            raise ValueError(f"method must be a word like GET, got {self.method!r}")
        if self.body is not None and self.bodies:
            raise ValueError("give either body or bodies")
        for name, value in self.headers.items():
            _check_header(name, value)
        check_above_0("weight", self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Tasks that send one request after another, each taking a ticket before it sends.

    Attributes:
        tasks: how many send at a time, >= 1.
        requests: how many tickets there are, >= 1; or None.
        duration_s: how long tickets are handed out, > 0; what is under way then is finished. Or
            None. Exactly one of the two is given.

    Raises:
        ValueError: a number is out of range, or both or neither of the two are given.
    """

    tasks: int
    requests: int | None = None
    duration_s: float | None = None

    def __post_init__(self) -> None:
        if (self.requests is None) == (self.duration_s is None):
            raise ValueError("give either requests or duration_s")
        _check_at_least_1("requests", self.requests)
        _check_at_least_1("tasks", self.tasks)
        check_above_0("duration_s", self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Requests that fall due at given moments, whatever became of those before.

    A request that is due while every connection is busy waits for one, and its wait counts.

    Attributes:
        stages: one after another, at least one; none of the requests of all of them is left out.
        poisson: gaps are drawn from the exponential distribution instead of being even.
        max_connections: >= 1.
        seed: of the gaps.
        parts: >= 1; one of how many generators that share the due moments this load is for.
        part: which of them, in [0, parts); it takes each moment whose number leaves this rest.

    Raises:
        ValueError: no stage, no request falls due, or a number is out of range.
    """

    stages: tuple[Stage, ...]
    poisson: bool = False
    max_connections: int = 1000
    seed: int = 0
    parts: int = 1
    part: int = 0

    def __post_init__(self) -> None:
        _check_at_least_1("max_connections", self.max_connections)
        if not 0 <= self.part < self.parts:
            raise ValueError(f"part must be in [0, {self.parts}), got {self.part}")
        if next(self.due_moments(), None) is None:
            seed = f" with seed {self.seed}" if self.poisson else ""
            raise ValueError(
                f"no request falls due{seed}: the rate comes to {self.mean_requests:g} requests in "
                f"{self.duration_s:g} s; raise the rate or make it longer"
            )

    @property
    def duration_s(self) -> float:
        """How long requests fall due, in seconds."""
        return sum(stage.duration_s for stage in self.stages)

    @property
    def mean_requests(self) -> float:
        """The area under the rate: how many requests fall due, before rounding or drawing."""
        return sum(stage.requests for stage in self.stages)

    def due_moments(self) -> Iterator[float]:
        """Yield when the requests of all parts are due, in seconds from the beginning, in order."""
        return due_moments(self.stages, random.Random(self.seed) if self.poisson else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOuts:
    """How long to wait, in seconds, > 0; None (where it may be) for no limit of its own.

    Attributes:
        connect_s: for a connection, TLS included.
        first_byte_s: from sending a request to the first byte of its reply.
        whole_s: from the moment when a request was due to the last byte of its reply.

    Raises:
        ValueError: a limit is not a number above 0.
    """

    connect_s: float = 10.0
    first_byte_s: float | None = None
    whole_s: float = 60.0

    def __post_init__(self) -> None:
        for each in fields(self):
            check_above_0(each.name, getattr(self, each.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to send, how, and how replies are told apart.

    Attributes:
        requests: sent in turn by weight, at least one.
        shape: how many and when.
        outcome: the class of a reply.
        keep_alive: whether connections are used again; else each request has one of its own.
        warmup_requests: requests before the first recorded one, >= 0, of a closed load.
        warmup_s: seconds before it, >= 0; an open load sends at its first rate meanwhile. There
            is no pause between warm-up and load, and the connections stay.
        verify_tls: whether a certificate must be valid.

    Raises:
        ValueError: no request, or a number out of range.
    """

    requests: tuple[Request, ...]
    shape: Closed | Open
    outcome: OutcomeRule
    time_outs: TimeOuts = field(default_factory=TimeOuts)
    keep_alive: bool = True
    warmup_requests: int = 0
    warmup_s: float = 0.0
    verify_tls: bool = True

    def __post_init__(self) -> None:
        if not 1 <= len(self.requests) <= MOST_REQUESTS:
            raise ValueError(f"requests must be 1 to {MOST_REQUESTS}, got {len(self.requests)}")
        if self.warmup_requests < 0:
            raise ValueError(f"warmup_requests must be at least 0, got {self.warmup_requests}")
        if not (math.isfinite(self.warmup_s) and self.warmup_s >= 0):
            raise ValueError(f"warmup_s must be a number of at least 0, got {self.warmup_s}")
        if self.warmup_requests and (self.warmup_s or isinstance(self.shape, Open)):
            raise ValueError("warmup_requests is for a closed load without warmup_s; drop it")

    def to_document(self) -> dict[str, Any]:
        """Return the load as a JSON-ready document; `from_document` reads it back."""
        kind = "open" if isinstance(self.shape, Open) else "closed"
        plain = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if isinstance(getattr(self, each.name), bool | int | float)
        }
        return plain | {
            "requests": [_request_to_document(request) for request in self.requests],
            "shape": {kind: asdict(self.shape)},
            "outcome": rule_to_document(self.outcome),
            "time_outs": asdict(self.time_outs),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Load":
        """Build a load from `to_document`'s form; `ValueError` or `TypeError` if it is not one."""
        values = dict(document) | {
            "requests": tuple(_request_from_document(each) for each in document["requests"]),
            "shape": _shape_from_document(document["shape"]),
            "outcome": rule_from_document(document["outcome"]),
            "time_outs": TimeOuts(**document.get("time_outs", {})),
        }
        return cls(**values)


def _request_to_document(request: Request) -> dict[str, Any]:
    values = {each.name: getattr(request, each.name) for each in fields(request)}
    return values | {"headers": dict(request.headers)}


def _request_from_document(document: Mapping[str, Any]) -> Request:
    return Request(**(dict(document) | {"bodies": tuple(document.get("bodies", ()))}))


def _shape_from_document(document: Mapping[str, Any]) -> Closed | Open:
    if "open" in document:
        values = dict(document["open"])
        return Open(**(values | {"stages": tuple(Stage(**stage) for stage in values["stages"])}))
    return Closed(**document["closed"])


def _check_header(name: str, value: str) -> None:
    if name.lower() in _FRAMING:
        raise ValueError(f"the header {name.lower()} is the load generator's; leave it out")
    if not name or not _TOKEN.issuperset(name):
        raise ValueError(f"a header's name must be a word like accept-language, got {name!r}")
    if not value.isascii() or not all(char == "\t" or char.isprintable() for char in value):
        raise ValueError(f"the header {name} must be one line of ASCII, got {value!r}")


def _check_at_least_1(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
