"""A system file: which services there are, how each is started, and in which order."""

import re
import shlex
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, TypedDict

from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, items, mapping, root, texts
from lab.files.placeholders import OWN, addresses, template
from lab.files.scalars import Parser, choice, http_path, name, seconds, text
from lab.files.tree import ListNode, MappingNode, Node
from lab.files.urls import service_url, this_machine_url
from lab.system import LOAD, NO_ENVIRONMENT, Counter, ReplyCounter, Service, System

URL_EXAMPLE = "http://127.0.0.1:8080"
RUN_EXAMPLE = '"{python} -m rates_api --port {port}"'
_OF_ALL = ("ready", "ready_timeout", "chaos", "attempts", "counts")
_RUN_KEYS = ("run", *_OF_ALL, "needs", "env", "inherit")
_SERVICE_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def read_system(path: Path) -> System:
    """Return the system that the file at *path* describes.

    Raises:
        FileError: the file cannot be read, or something in it is wrong; a line each.
    """
    problems = Problems(path)
    fields = root(path, problems, keys=("services", "toxiproxy"))
    services: dict[str, Service] = fields.require(
        "services",
        lambda node: _services(node, problems),
        example="{rates: {run: " + RUN_EXAMPLE + "}}",
        stand_in={},
    )
    toxiproxy = fields.read(
        "toxiproxy", this_machine_url, example="http://127.0.0.1:8474", default=None
    )
    problems.check()
    order = _order(services, mapping(fields.node.values["services"]), problems)
    problems.check()
    return System(path=path, services=tuple(services[each] for each in order), toxiproxy=toxiproxy)


def _services(node: Node, problems: Problems) -> dict[str, Service]:
    names = tuple(mapping(node).values)
    if not names:
        raise Wrong("must name at least one service, got {}")
    if not check_names(mapping(node), problems, _SERVICE_NAME, kind="service"):
        return {}
    if LOAD in names:
        advice = "give the service another name"
        place = mapping(node).key_places[LOAD]
        raise Wrong(f"has {show(LOAD)}, which is the load generator", advice=advice, place=place)
    return entries(
        node,
        problems,
        lambda key, value: _service(key, value, names, problems),
        example="{run: " + RUN_EXAMPLE + "}",
    )


def _service(own_name: str, node: Node, names: tuple[str, ...], problems: Problems) -> Service:
    fields = Fields(node, problems, keys=(*_RUN_KEYS, "url", "backing"))
    if "backing" in fields or not ("run" in fields or "url" in fields):
        return Service(name=own_name, backing=_backing(fields))
    if "url" in fields:
        _keep_alone("url", fields, _RUN_KEYS, but=_OF_ALL, why="it runs already")
        url = fields.read("url", service_url, example=URL_EXAMPLE, default=None)
        return Service(name=own_name, url=url, **_how_it_is_asked(fields))
    needs = fields.read(
        "needs",
        lambda node: items(
            node, problems, choice(names, kind="service"), name="needs", example="needs: [redis]"
        ),
        example="[redis]",
        default=(),
    )
    own_template = template((*OWN, *addresses(_reachable(fields, needs, names))), services=names)
    return Service(
        name=own_name,
        run=fields.read("run", _command(own_template), example=RUN_EXAMPLE, default=None),
        needs=needs,
        env=fields.read(
            "env",
            lambda node: environment(node, problems, own_template),
            example="{LOG_LEVEL: info}",
            default=NO_ENVIRONMENT,
        ),
        inherit=fields.read(
            "inherit",
            lambda node: items(
                node, problems, _variable, name="inherit", example="inherit: [API_KEY]"
            ),
            example="[API_KEY]",
            default=(),
        ),
        **_how_it_is_asked(fields),
    )


class _Questions(TypedDict):
    ready: str | None
    ready_timeout_s: float
    chaos: str | None
    attempts: Counter | None
    counts: ReplyCounter | None


def _how_it_is_asked(fields: Fields) -> _Questions:
    """Return what the lab asks a service over HTTP, whoever started it."""
    problems = fields.problems
    return {
        "ready": fields.read("ready", http_path, example="/health", default=None),
        "ready_timeout_s": fields.read("ready_timeout", seconds, example="30 s", default=30.0),
        "chaos": fields.read("chaos", http_path, example="/chaos", default=None),
        "attempts": fields.read(
            "attempts", lambda node: _counter(node, problems), example=_COUNTER, default=None
        ),
        "counts": fields.read(
            "counts", lambda node: _counts(node, problems), example=_COUNTS, default=None
        ),
    }


def _keep_alone(
    key: str, fields: Fields, keys: tuple[str, ...], *, why: str, but: tuple[str, ...] = ()
) -> None:
    for other in keys:
        if other in fields and other not in but:
            alone = f"keep {key} alone" if not but else f"remove {other}"
            raise Wrong(
                f"has {show(other)} beside {show(key)}",
                advice=f"{alone}, {why}",
                place=fields.node.key_places[other],
            )


def _variable(node: Node) -> str:
    value = text(node)
    if not _VARIABLE_NAME.fullmatch(value):
        raise Wrong(f"must be the name of an environment variable, got {show(value)}")
    return value


def _reachable(fields: Fields, needs: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return *needs*, or all services if some need is misspelt: one mistake, one line."""
    listed = fields.node.values.get("needs")
    all_known = listed is None or (isinstance(listed, ListNode) and len(listed.items) == len(needs))
    return needs if all_known else names


def _backing(fields: Fields) -> Literal["redis"]:
    if "backing" not in fields:
        advice = f"write e.g. run: {RUN_EXAMPLE}, url: {URL_EXAMPLE}, or backing: redis"
        raise Wrong('has none of "run", "url" and "backing"', advice=advice)
    _keep_alone("backing", fields, ("url", *_RUN_KEYS), why="the lab knows how to start it")
    known = choice(("redis",), kind="backing server")
    fields.require("backing", known, example="redis", stand_in="redis")
    return "redis"


def _command(own_template: Parser[str]) -> Parser[str]:
    def parse(node: Node) -> str:
        value = own_template(node)
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise Wrong(f"is no command line, got {show(value)} ({error})") from None
        if not words:
            raise Wrong(f"must be a command line, got {show(value)}")
        return value

    return parse


_COUNTER = "{path: /stats, json: attempts}"


def _counter(node: Node, problems: Problems) -> Counter:
    fields = Fields(node, problems, keys=("path", "json"))
    return Counter(
        path=fields.require("path", http_path, example="/stats", stand_in="/"),
        json_field=fields.require("json", name, example="attempts", stand_in="attempts"),
    )


_COUNTS = "{path: /stats, json: [fresh, stale]}"


def _counts(node: Node, problems: Problems) -> ReplyCounter:
    fields = Fields(node, problems, keys=("path", "json"))
    return ReplyCounter(
        path=fields.require("path", http_path, example="/stats", stand_in="/"),
        classes=fields.require(
            "json",
            lambda node: items(node, problems, name, name="json", example="json: [fresh]"),
            example="[fresh, stale]",
            stand_in=(),
        ),
    )


def environment(node: Node, problems: Problems, value: Parser[str]) -> Mapping[str, str]:
    """Return the variables of an `env` mapping, each value read by *value*."""
    check_names(mapping(node), problems, _VARIABLE_NAME, kind="variable")
    return texts(node, problems, value, example="info")


def check_names(
    node: MappingNode, problems: Problems, pattern: re.Pattern[str], *, kind: str
) -> bool:
    """Note each key of *node* that does not fit *pattern*; tell whether all do."""
    wrong = [key for key in node.key_places if not pattern.fullmatch(key)]
    for key in wrong:
        better = re.sub(r"\W+", "_", key, flags=re.ASCII).lstrip("0123456789") or "name"
        message = f"the {kind} name {show(key)} must be letters, digits and _"
        problems.add(node.key_places[key], f"{message}; write e.g. {better}")
    return not wrong


def _order(services: dict[str, Service], node: MappingNode, problems: Problems) -> tuple[str, ...]:
    """Return the services' names, each after those that it needs."""
    sorter = TopologicalSorter({each.name: each.needs for each in services.values()})
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        chain = " needs ".join(reversed(error.args[1]))
        place = node.key_places[error.args[1][0]]
        problems.add(place, f"needs go round in a circle: {show(chain)}; remove one of them")
        return ()
