"""A system file: which services there are, how each is started, and the links between them.

`run` and the values of `env` are templates: `{python}`, `{port}`, and `{name.url}`, `{name.port}`
of any service listed in `needs`.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from lab.spec.models import (
    Entry,
    Reading,
    Spec,
    by_name,
    mapping,
    read,
    reads,
    root,
    says,
    sequence,
)
from lab.spec.problems import Problems, Wrong, check_known, suggest
from lab.spec.quantities import (
    HttpPath,
    Line,
    Name,
    Seconds,
    ServiceName,
    VariableName,
    line,
    name,
    one_of,
    text,
)
from lab.spec.yaml_tree import MappingNode, Node
from lab.templates import placeholders
from loadgen.hosts import is_loopback
from loadgen.quantities import show

LOAD = "load"  # what a link from the load generator begins with; no service may be called so
LINK_EXAMPLE = "front -> rates"
OWN = ("python", "port")  # what a service may say of itself
_SCHEMES = ("http", "https", "tcp")
_RUN_EXAMPLE = '"{python} -m rates_api --port {port}"'
_URL_EXAMPLE = "http://127.0.0.1:8080"
_OF_ALL = ("ready", "ready_timeout", "chaos", "attempts", "counts")  # whoever started it


def _command(node: Node) -> str:
    value = line(node)
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise Wrong(f"is no command line, got {show(value)} ({error})") from None
    if not words:
        raise Wrong(f"must be a command line, got {show(value)}")
    return value


def _service_url(node: Node) -> str:
    """Return the URL of a service, without a slash at its end; `tcp` stands for any protocol."""
    url = name(node)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise Wrong(f"is no URL: {problem}, got {show(url)}") from None
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise Wrong(f"must be a URL with http, https or tcp, got {show(url)}")
    if parts.scheme == "tcp" and (port is None or parts.path):
        raise Wrong(
            f"must be a host and a port, got {show(url)}", advice="write e.g. tcp://127.0.0.1:5432"
        )
    if parts.username is not None or parts.query or parts.fragment or not url.isascii():
        raise Wrong(f"must have no password, query or fragment, got {show(url)}")
    return url.rstrip("/")


def _url_of_this_machine(node: Node) -> str:
    url = _service_url(node)
    if not url.startswith("http://") or not is_loopback(urlsplit(url).hostname or ""):
        raise Wrong(f"must be an http URL on this machine, got {show(url)}")
    return url


def _variable(node: Node) -> str:
    value = text(node)
    if not value.isascii() or not value.isidentifier():
        raise Wrong(f"must be the name of an environment variable, got {show(value)}")
    return value


class Counter(Spec):
    """A number that a service reports about itself: `GET path`, then one field of the JSON."""

    path: Annotated[HttpPath, says("/stats")]
    json_field: Annotated[Name, says("attempts", alias="json")]


class ReplyCounter(Spec):
    """What a service has counted of its replies: `GET path`, then a field for each class."""

    path: Annotated[HttpPath, says("/stats")]
    classes: Annotated[tuple[Name, ...], says("[fresh, stale]", alias="json")]


class Service(Spec):
    """One service of a system: a process to start, a URL that runs, or a backing server."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [key]} for key in ("run", "url", "backing")]}
    )
    name: SkipJsonSchema[str]
    run: Annotated[
        str | None,
        reads(_command),
        says(
            _RUN_EXAMPLE,
            "the command, started without a shell. `{port}` is a free port, "
            "`{python}` the lab's interpreter, `{rates.url}` and `{rates.port}` the address of a "
            "service in `needs`",
        ),
    ] = None
    url: Annotated[
        str | None,
        reads(_service_url, schema=Annotated[str, Field(pattern=r"^(http|https|tcp)://")]),
        says(
            _URL_EXAMPLE,
            "where a service runs already: `http`, `https`, or `tcp` for any "
            "protocol. It is not started, stopped or signalled",
        ),
    ] = None
    backing: Annotated[
        Literal["redis"] | None,
        one_of(("redis",), kind="backing server", schema=Literal["redis"]),
        says("redis", "`redis`: `$REDIS_URL`, else a server on the path, else the embedded one"),
    ] = None
    ready: Annotated[
        HttpPath | None,
        says(
            "/health",
            "the path that answers 200 once the service is up; without it, a port that listens",
        ),
    ] = None
    ready_timeout_s: Annotated[
        Seconds, says("30 s", "how long that may take", alias="ready_timeout")
    ] = 30.0
    chaos: Annotated[
        HttpPath | None, says("/chaos", "the path of the service's own fault injector")
    ] = None
    attempts: Annotated[
        Counter | None,
        says(
            "{path: /stats, json: attempts}",
            "`{path: /stats, json: attempts}`: where the service counts its calls to "
            "the one under fault",
        ),
    ] = None
    counts: Annotated[
        ReplyCounter | None,
        says(
            "{path: /stats, json: [fresh, stale]}",
            "`{path: /stats, json: [fresh, stale]}`: where the service counts its own "
            "replies by class; a run whose samples disagree is marked",
        ),
    ] = None
    needs: Annotated[tuple[Line, ...], says("[redis]", "services that are started before it")] = ()
    env: Annotated[
        dict[VariableName, Line],
        Entry(example="info"),
        says("{LOG_LEVEL: info}", "its environment, with the placeholders of `run`"),
    ] = {}
    inherit: Annotated[
        tuple[Annotated[str, reads(_variable)], ...],
        says(
            "[API_KEY]",
            "names of variables that it has from the lab's environment, besides the "
            "usual ones such as `PATH`",
        ),
    ] = ()

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield the first key that does not go with `url` or `backing`."""
        kind = next((key for key in ("backing", "url", "run") if key in node), None)
        if kind is None and is_complete:
            yield Wrong(
                'has none of "run", "url" and "backing"',
                advice=f"write e.g. run: {_RUN_EXAMPLE}, url: {_URL_EXAMPLE}, or backing: redis",
            )
        others = [key for key in cls.file_keys() if key in node and key != kind]
        if kind == "url":
            others = [key for key in others if key not in _OF_ALL]
        if others and kind in {"backing", "url"}:
            advice = "keep backing alone, the lab knows how to start it"
            if kind == "url":
                advice = f"remove {others[0]}, it runs already"
            yield Wrong(f"has {show(others[0])} beside {show(kind)}", advice=advice, at=others[0])

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


class System(Spec):
    """All services of a system file; each stands after those that it needs."""

    path: SkipJsonSchema[Path]
    services: Annotated[
        tuple[Service, ...],
        by_name(Service, key=ServiceName, nothing="must name at least one service, got {}"),
        Entry(example="{run: " + _RUN_EXAMPLE + "}"),
        says("{rates: {run: " + _RUN_EXAMPLE + "}}", "the services by name"),
    ]
    toxiproxy: Annotated[
        str | None,
        reads(_url_of_this_machine, schema=Annotated[str, Field(pattern="^http://")]),
        says(
            "http://127.0.0.1:8474",
            "URL of a Toxiproxy server on this machine that makes the links sick",
        ),
    ] = None

    def service(self, name: str) -> Service:
        """Return the service called *name*; `KeyError` if the file has none."""
        for service in self.services:
            if service.name == name:
                return service
        raise KeyError(name)


def read_system(path: Path) -> System:
    """Return the system that the file at *path* describes.

    Raises:
        FileError: the file cannot be read, or something in it is wrong; one line each.
    """
    node = root(path, System)
    system = read(System, node, Reading(path=path))
    services = mapping(node["services"])
    problems = Problems(path)
    for service in system.services:
        _check_names(service, mapping(services[service.name]), tuple(services), problems)
    problems.check()
    order = _order(system.services, services, problems)
    problems.check()
    return system.model_copy(update={"services": tuple(system.service(each) for each in order)})


def _check_names(
    service: Service, node: MappingNode, names: tuple[str, ...], problems: Problems
) -> None:
    """Note needs and placeholders that are not there."""
    for need in sequence(node["needs"]) if service.needs else ():
        with problems.at("needs", need.place):
            check_known(line(need), names, kind="service")
    all_known = set(service.needs) <= set(names)
    own = (*OWN, *addresses(service.needs if all_known else names))
    if service.run is not None:
        with problems.at("run", node["run"].place):
            check_template(service.run, own, names)
    check_environment(node.get("env"), own, names, problems)


def _order(services: Iterable[Service], node: MappingNode, problems: Problems) -> tuple[str, ...]:
    """Return the services' names, each after those that it needs."""
    sorter = TopologicalSorter({each.name: each.needs for each in services})
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        chain = " needs ".join(reversed(error.args[1]))
        place = node.key_places[error.args[1][0]]
        problems.add(place, f"needs go round in a circle: {show(chain)}; remove one of them")
        return ()


def addresses(services: Iterable[str]) -> tuple[str, ...]:
    """Return the placeholders for where *services* can be reached."""
    return tuple(f"{service}.{part}" for service in services for part in ("url", "port"))


def check_template(template: str, known: Iterable[str], services: Iterable[str] = ()) -> None:
    """Refuse a template with a placeholder that is not *known*.

    Args:
        template: one line of text.
        known: placeholders without braces.
        services: all services there are, known here or not, to tell what is missing.

    Raises:
        Wrong: with the next step.
    """
    names = tuple(known)
    for placeholder in placeholders(template):
        if placeholder not in names:
            service, dot, part = placeholder.partition(".")
            advice = suggest(f"{{{placeholder}}}", (f"{{{each}}}" for each in names))
            if dot and service in services and part in {"url", "port"}:
                advice = f"add {service} to needs"
            shown = show("{" + placeholder + "}")
            raise Wrong(f"has the unknown placeholder {shown}", advice=advice)


def check_environment(
    node: Node | None, known: Iterable[str], services: Iterable[str], problems: Problems
) -> None:
    """Note variables of an `env` mapping with unknown placeholders; None: there is no `env`."""
    names = tuple(known)
    for variable, value in mapping(node).items() if node is not None else ():
        with problems.at(show(variable), value.place):
            check_template(line(value), names, services)


def read_link(text: str, system: System) -> Link:
    """Return the link that *text* names.

    Raises:
        Wrong: it is no `SOURCE -> TARGET`, or no call of that system goes that way.
    """
    link = link_of(text)
    check_link(link, system)
    return link


def link_of(text: str) -> Link:
    """Return the link that *text* names, of whatever system; `Wrong` if it is none."""
    source, arrow, target = (part.strip() for part in text.partition("->"))
    if not arrow or not source or not target:
        raise Wrong(f"must be two names with -> between them, got {show(text)}")
    return Link(source=source, target=target)


def check_link(link: Link, system: System) -> None:
    """Refuse a link that no call of *system* takes, or that a proxy cannot stand in.

    Raises:
        Wrong: with the next step.
    """
    services = {service.name: service for service in system.services}
    check_known(link.source, [LOAD, *services], kind="service")
    check_known(link.target, services, kind="service")
    target = services[link.target]
    if (target.url or "").startswith("https:"):
        raise Wrong(
            f"leads to {show(target.url or '')}, for which a proxy has no certificate",
            advice="name the service by an http URL, or remove the fault",
        )
    if link.source == LOAD:
        if not target.speaks_http:
            what = f"leads to {show(target.name)}, to which no request can be sent"
            raise Wrong(what, advice="name a service that speaks HTTP")
    else:
        _check_caller(services[link.source], link.target)


def _check_caller(source: Service, target: str) -> None:
    """Refuse a link that the source would go round: its address would not be the proxy's."""
    if not source.run:
        raise Wrong(
            f"begins at {show(source.name)}, which the lab does not start",
            advice=f"it must be told the proxy's address: begin at {LOAD} or at a service with run",
        )
    mentioned = {each for one in (source.run, *source.env.values()) for each in placeholders(one)}
    if not mentioned & {f"{target}.url", f"{target}.port"}:
        raise Wrong(
            f"is not used: {show(source.name)} has neither {{{target}.url}} nor {{{target}.port}} "
            "in its run or env",
            advice="it must get the address of the proxy from there",
        )
