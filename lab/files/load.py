"""What is sent and how replies are told apart: the `load`, `outcome` and `clients` of a file."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from lab.experiment import EMPTY, ERROR_CLASS, SPEED_FIGURES, Client, Load, OutcomeRule, Request
from lab.files.engine import ENGINE_KEYS, read_engine
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, items, mapping, sequence, texts
from lab.files.placeholders import OWN, addresses, template
from lab.files.scalars import Parser, choice, line, name, seconds, text, whole
from lab.files.services import environment
from lab.files.tree import Node, Scalar
from lab.system import System

MAX_REQUESTS = 10_000_000
MAX_TASKS = 10_000
REQUEST_EXAMPLE = "GET {front.url}/convert"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
RESERVED = (  # columns of runs.csv that an outcome class must not be called
    *("started_utc", "fault", "client", "repeat", "requests", "tasks", ERROR_CLASS),
    *SPEED_FIGURES,
    *("mean", "p50", "p95", "p99", "max", "runs", "duration_s", "attempts", "note"),
)
NO_ENVIRONMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType({})
_FRAMING = ("content-length", "transfer-encoding", "connection")  # the load generator's to say
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def requests(node: Node) -> int:
    """Return a number of requests."""
    return whole(1, MAX_REQUESTS)(node)


def tasks(node: Node) -> int:
    """Return a number of concurrent tasks."""
    return whole(1, MAX_TASKS)(node)


def read_load(
    node: Node, system: System, problems: Problems, *, size: tuple[int, int] | None = None
) -> Load:
    """Return the `load` of an experiment on *system*.

    Args:
        node: the mapping.
        system: to which it is sent.
        problems: takes what is wrong.
        size: requests and tasks, if the file says elsewhere how much is sent and when.
    """
    sizes = () if size else ("requests", "tasks")
    keys = ("request", "timeout", "headers", "body", *sizes, *ENGINE_KEYS)
    fields = Fields(node, problems, keys=keys)
    method, url = fields.require(
        "request", _request_line(system), example=REQUEST_EXAMPLE, stand_in=("GET", "")
    )
    headers = fields.read(
        "headers",
        lambda node: read_headers(node, problems),
        example="{accept: application/json}",
        default=EMPTY,
    )
    body = fields.read("body", text, example="'{\"amount\": 100}'", default=None)
    return Load(
        request=Request(method=method, url=url, headers=headers, body=body),
        requests=size[0]
        if size
        else fields.require("requests", requests, example="200", stand_in=1),
        tasks=size[1] if size else fields.require("tasks", tasks, example="4", stand_in=1),
        timeout_s=fields.read("timeout", seconds, example="60 s", default=60.0),
        locust=read_engine(fields),
    )


def _request_line(system: System) -> Parser[tuple[str, str]]:
    started = [service.name for service in system.services if service.run]
    url_template = template(addresses(started))

    def parse(node: Node) -> tuple[str, str]:
        words = name(node).split()
        if len(words) != 2:  # noqa: PLR2004 - a method and an address
            raise Wrong(f"must be a method and an address, got {show(name(node))}")
        method, url = words
        _check_method(method)
        url_template(node)
        if not url.isascii():
            raise Wrong(f"must be ASCII, got {show(url)}", advice="write the rest as %XX")
        if not re.match(r"\{[^{}]+\.url\}(?=[/?]|$)", url):
            raise Wrong(f"must go to a service of the system, got {show(url)}")
        return method, url

    return parse


def _check_method(method: str) -> None:
    if method not in METHODS:
        meant = method.upper() if method.upper() in METHODS else "GET"
        raise Wrong(f"has the unknown method {show(method)}", advice=f"write e.g. {meant}")


def read_headers(node: Node, problems: Problems) -> Mapping[str, str]:
    """Return HTTP headers, refusing what a server could not read."""
    for key, place in mapping(node).key_places.items():
        if not _HEADER_NAME.fullmatch(key):
            problems.add(place, f"{show(key)} is no header name; write e.g. accept-language")
        if key.lower() in _FRAMING:
            problems.add(place, f"{show(key)} is set by the load generator; leave it out")
    return texts(node, problems, _header_value, example="uk")


def _header_value(node: Node) -> str:
    value = line(node)
    if not value.isascii() or value != value.strip():
        raise Wrong(f"must be ASCII without spaces around it, got {show(value)}")
    return value


def read_outcome(node: Node, problems: Problems) -> OutcomeRule:
    """Return how a reply is put into a class."""
    fields = Fields(node, problems, keys=("json", "classes"))
    return OutcomeRule(
        json_field=fields.require("json", name, example="source", stand_in=""),
        classes=fields.require(
            "classes",
            lambda node: _classes(node, problems),
            example="[fresh, stale]",
            stand_in=(),
        ),
    )


def _classes(node: Node, problems: Problems) -> tuple[str, ...]:
    seen: list[str] = []

    def parse(node: Node) -> str:
        value = name(node)
        if value in RESERVED or value.endswith(("_min", "_max")):
            advice = f"rename it, e.g. {value}_reply"
            raise Wrong(f"uses the name {show(value)}, which is a column of its own", advice=advice)
        if value in seen:
            raise Wrong(f"names {show(value)} twice", advice="keep one of the two")
        seen.append(value)
        return value

    if not sequence(node).items:
        raise Wrong("must name at least one class, got []")
    return items(node, problems, parse, name="classes", example="classes: [fresh, stale]")


def read_clients(node: Node, system: System, problems: Problems) -> tuple[Client, ...]:
    """Return the clients, each of which is a column of cells."""
    if not mapping(node).values:
        raise Wrong("must name at least one client, got {}")
    found = entries(
        node,
        problems,
        lambda key, value: _client(key, value, system, problems),
        example="{}",
    )
    return tuple(found.values())


def _client(own_name: str, node: Node, system: System, problems: Problems) -> Client:
    fields = Fields(node, problems, keys=("query", "headers", "env"))
    return Client(
        name=own_name,
        query=fields.read(
            "query",
            lambda node: texts(node, problems, line, example='"true"'),
            example='{raw: "true"}',
            default=EMPTY,
        ),
        headers=fields.read(
            "headers",
            lambda node: read_headers(node, problems),
            example="{accept-language: uk}",
            default=EMPTY,
        ),
        env=fields.read(
            "env",
            lambda node: _environments(node, system, problems),
            example='{front: {RETRIES: "0"}}',
            default=NO_ENVIRONMENTS,
        ),
    )


def _environments(
    node: Node, system: System, problems: Problems
) -> Mapping[str, Mapping[str, str]]:
    """Return extra environment by service; only a service that the lab starts can have some."""
    started = {service.name: service for service in system.services if service.run}
    known = choice(started, kind="service that the lab starts")

    def parse(key: str, value: Node) -> Mapping[str, str]:
        known(Scalar(place=mapping(node).key_places[key], text=key, is_text=True))
        own = template((*OWN, *addresses(started[key].needs)), services=started)
        return environment(value, problems, own)

    return MappingProxyType(entries(node, problems, parse, example='{RETRIES: "0"}'))
