"""What a system file says: the services, how each is started, and how one knows that it is well."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

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
    """One service of a system: a process of ours to start, or a backing server to find or start.

    `run` and the values of `env` are templates: `{python}`, `{port}`, and `{name.url}`,
    `{name.port}` of any service listed in `needs`.
    """

    name: str
    run: str | None = None  # a command line, split as a shell would; None for a backing server
    backing: Literal["redis"] | None = None
    ready: str | None = None  # path that answers 200 once the service can take requests
    ready_timeout_s: float = 30.0
    chaos: str | None = None  # path of the fault injector
    attempts: Counter | None = None  # calls sent so far to the service under fault
    counts: ReplyCounter | None = None  # replies to its own callers
    needs: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: NO_ENVIRONMENT)
    inherit: tuple[str, ...] = ()  # variables of the lab's own environment to pass on


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All services of a system file; each stands after those that it needs."""

    path: Path
    services: tuple[Service, ...]

    def service(self, name: str) -> Service:
        """Return the service called *name*; `KeyError` if the file has none."""
        for service in self.services:
            if service.name == name:
                return service
        raise KeyError(name)
