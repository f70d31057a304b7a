"""What a system file says: the services, how each is started, and how one knows that it is well."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

LOAD = "load"  # what a link from the load generator begins with; no service may be called so
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A number that a service reports about itself: `GET path`, then one field of the JSON."""

    path: str
    json_field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCounter:
    """What a service has counted of its replies: `GET path`, then a field for each class."""

    path: str
    classes: tuple[str, ...]  # outcome classes, each the name of its field


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of a system: a process to start, a URL that runs, or a backing server.

    `run` and the values of `env` are templates: `{python}`, `{port}`, and `{name.url}`,
    `{name.port}` of any service listed in `needs`.
    """

    name: str
    run: str | None = None  # a command line, split as a shell would; None for a backing server
    url: str | None = None  # of a service that somebody else started; no slash at its end
    backing: Literal["redis"] | None = None
    ready: str | None = None  # path that answers 200 once the service can take requests
    ready_timeout_s: float = 30.0
    chaos: str | None = None  # path of the fault injector
    attempts: Counter | None = None  # calls sent so far to the service under fault
    counts: ReplyCounter | None = None  # replies to its own callers
    needs: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: NO_ENVIRONMENT)
    inherit: tuple[str, ...] = ()  # variables of the lab's own environment to pass on

    @property
    def speaks_http(self) -> bool:
        """Whether requests can be sent to it."""
        return self.run is not None or (self.url or "").startswith("http")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Link:
    """The way from a caller to a service that it needs, where a proxy can be put in."""

    source: str  # a service, or `LOAD`
    target: str  # a service

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All services of a system file; each stands after those that it needs."""

    path: Path
    services: tuple[Service, ...]
    toxiproxy: str | None = None  # URL of the server that makes its links sick; None: the lab does

    def service(self, name: str) -> Service:
        """Return the service called *name*; `KeyError` if the file has none."""
        for service in self.services:
            if service.name == name:
                return service
        raise KeyError(name)
