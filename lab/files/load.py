"""What is sent, how much of it and when: the `load` of a file."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lab.experiment import EMPTY, Load, Request, SteadyState
from lab.files.bodies import BODY_EXAMPLE, read_bodies
from lab.files.engine import ENGINE_KEYS, read_engine
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, mapping
from lab.files.headers import read_headers
from lab.files.placeholders import addresses, template
from lab.files.rates import rate_per_s
from lab.files.scalars import Parser, describe, name, seconds, whole, written
from lab.files.tree import MappingNode, Node, Scalar
from lab.system import System
from loadgen import TimeOuts

MAX_REQUESTS = 10_000_000
MAX_TASKS = 10_000
MAX_WEIGHT = 1_000_000
MAX_MIX = 50
REQUEST_EXAMPLE = "GET {front.url}/convert"
MIX_EXAMPLE = "{browse: {request: GET {shop.url}/items, weight: 9}, buy: {…}}"
TIMEOUTS_EXAMPLE = "{connect: 2 s, first_byte: 5 s, whole: 60 s}"
STEADY_STATE_EXAMPLE = "{requests: 20}"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
DEFAULT_TIMEOUT_S = 60.0
_SIZE_KEYS = ("requests", "for", "tasks", "rate")
_REQUEST_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def requests(node: Node) -> int:
    """Return a number of requests."""
    return whole(1, MAX_REQUESTS)(node)


def tasks(node: Node) -> int:
    """Return a number of concurrent tasks."""
    return whole(1, MAX_TASKS)(node)


def rate(node: Node) -> float:
    """Return a rate in requests a second, more than 0."""
    value = rate_per_s(written(node))
    if not value:
        raise Wrong(f"must be more than 0, got {describe(node)}")
    return value


def read_load(
    node: Node,
    system: System,
    problems: Problems,
    *,
    size: tuple[int, int] | None = None,
    is_closed: bool = False,
) -> Load:
    """Return the `load` of an experiment on *system*.

    Args:
        node: the mapping.
        system: to which it is sent.
        problems: takes what is wrong.
        size: requests and tasks, if the file says elsewhere how much is sent and when.
        is_closed: whether it must be a number of requests by a number of tasks.
    """
    size_keys = () if size else ("requests", "tasks") if is_closed else _SIZE_KEYS
    own_keys = ("request", "mix", "timeout", "timeouts", "headers", "body", "connections")
    keys = (*own_keys, *size_keys, *ENGINE_KEYS)
    fields = Fields(node, problems, keys=keys)
    own = Size(*size) if size else read_size(fields)
    if not size and not fields.has_unknown:
        _require_one(fields, "requests", "for", "200")
        _require_one(fields, "tasks", "rate", "4")
    return Load(
        mix=_mix(fields, system, problems),
        requests=own.requests,
        duration_s=own.duration_s,
        tasks=own.tasks,
        rate_per_s=own.rate_per_s,
        time_outs=_time_outs(fields, problems),
        keep_alive=fields.read("connections", _are_kept, example="per_request", default=True),
        locust=read_engine(fields),
    )


def read_steady_state(node: Node, system: System, problems: Problems) -> SteadyState | None:
    """Return the requests that try the healthy system before each cell; None for `none`."""
    if not isinstance(node, MappingNode):
        if isinstance(node, Scalar) and node.text == "none":
            return None
        raise Wrong(
            f"must be none, or say its requests, got {describe(node)}",
            advice=f"write none, or e.g. {STEADY_STATE_EXAMPLE}",
        )
    fields = Fields(node, problems, keys=("requests", "request", "headers", "body"))
    number = fields.read("requests", _tries, example="20", default=SteadyState().requests)
    if "request" in fields:
        own = _request(fields, system, problems, headers=_headers(fields, problems, EMPTY))
        return SteadyState(requests=number, request=own)
    for key in ("headers", "body"):
        if key in fields:
            place = node.key_places[key]
            problems.add(place, f"{key} is for a request of its own; add request, or remove {key}")
    if not node.values:
        raise Wrong("says nothing, got {}")
    return SteadyState(requests=number)


def _tries(node: Node) -> int:
    if isinstance(node, Scalar) and node.text == "0":
        raise Wrong('must be at least 1, got "0"', advice="write steady_state: none to send none")
    return requests(node)


class Size(NamedTuple):
    """How much is sent and when, of a load or in place of a load's own."""

    requests: int | None
    tasks: int | None
    duration_s: float | None = None
    rate_per_s: float | None = None


def read_size(fields: Fields) -> Size:
    """Return what the keys `requests`, `for`, `tasks` and `rate` say."""
    size = Size(
        requests=fields.read("requests", requests, example="200", default=None),
        duration_s=fields.read("for", seconds, example="30 s", default=None),
        tasks=fields.read("tasks", tasks, example="4", default=None),
        rate_per_s=fields.read("rate", rate, example="100/s", default=None),
    )
    for one, other in (("requests", "for"), ("tasks", "rate")):
        if one in fields and other in fields:
            place = fields.node.key_places[other]
            fields.problems.add(place, f"{other} stands beside {one}; keep one of the two")
    if size.duration_s and size.rate_per_s:
        number = size.duration_s * size.rate_per_s
        if is_wrong_number(number):
            place = fields.node.key_places["rate"]
            fields.problems.add(place, f"rate {comes_to(number)}; change for")
    return size


def is_wrong_number(requests: float) -> bool:
    """Tell whether a rate over a time comes to no request at all, or to too many."""
    return not 1 <= round(requests) <= MAX_REQUESTS


def comes_to(requests: float, where: str = "") -> str:
    """Say what is wrong with such a number; *where* begins with a space."""
    return f"comes to {requests:g} requests{where}, must be 1 to {MAX_REQUESTS}"


def _require_one(fields: Fields, key: str, other: str, example: str) -> None:
    if key not in fields and other not in fields:
        fields.require(key, requests, example=example, stand_in=1)


def _mix(fields: Fields, system: System, problems: Problems) -> tuple[Request, ...]:
    headers = _headers(fields, problems, EMPTY)
    if "mix" not in fields:
        return (_request(fields, system, problems, headers=headers),)
    for key in ("request", "body"):
        if key in fields:
            place = fields.node.key_places[key]
            problems.add(place, f"{key} stands beside mix; write it into one of the mix's requests")

    def parse(own_name: str, node: Node) -> Request:
        if not _REQUEST_NAME.fullmatch(own_name):
            raise Wrong("is no name of letters, digits, _ and -", advice="rename it, e.g. browse")
        own = Fields(node, problems, keys=("request", "weight", "headers", "body"))
        own_headers = _headers(own, problems, headers)
        return _request(own, system, problems, headers=own_headers, own_name=own_name)

    def parse_all(node: Node) -> tuple[Request, ...]:
        if not 1 <= len(mapping(node).values) <= MAX_MIX:
            raise Wrong(f"must name 1 to {MAX_MIX} requests, got {len(mapping(node).values)}")
        example = f"{{request: {REQUEST_EXAMPLE}}}"
        return tuple(entries(node, problems, parse, example=example).values())

    return fields.require("mix", parse_all, example=MIX_EXAMPLE, stand_in=())


def _request(
    fields: Fields,
    system: System,
    problems: Problems,
    *,
    headers: Mapping[str, str],
    own_name: str = "",
) -> Request:
    method, url = fields.require(
        "request", _request_line(system), example=REQUEST_EXAMPLE, stand_in=("GET", "")
    )
    bodies = fields.read(
        "body", lambda node: read_bodies(node, problems), example=BODY_EXAMPLE, default=()
    )
    return Request(
        method=method,
        url=url,
        headers=headers,
        body=bodies[0] if len(bodies) == 1 else None,
        bodies=bodies if len(bodies) > 1 else (),
        name=own_name,
        weight=fields.read("weight", whole(1, MAX_WEIGHT), example="9", default=1),
    )


def _headers(fields: Fields, problems: Problems, more: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of *fields* on top of *more*, in whatever case either has a name."""
    own = fields.read(
        "headers",
        lambda node: read_headers(node, problems),
        example="{accept: application/json}",
        default=EMPTY,
    )
    names = {key.lower() for key in own}
    kept = {key: value for key, value in more.items() if key.lower() not in names}
    return {**kept, **own} if kept else own


def _request_line(system: System) -> Parser[tuple[str, str]]:
    reachable = [service.name for service in system.services if service.speaks_http]
    url_template = template(addresses(reachable))

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


def _are_kept(node: Node) -> bool:
    """Return whether connections are used again."""
    value = written(node)
    if value not in {"kept", "per_request"}:
        raise Wrong(f"must be kept or per_request, got {describe(node)}")
    return value == "kept"


def _check_method(method: str) -> None:
    if method not in METHODS:
        meant = method.upper() if method.upper() in METHODS else "GET"
        raise Wrong(f"has the unknown method {show(method)}", advice=f"write e.g. {meant}")


def _time_outs(fields: Fields, problems: Problems) -> TimeOuts:
    """Return the limits; alone, `timeout` is one on all of a request, connecting included."""
    if "timeout" in fields and "timeouts" in fields:
        place = fields.node.key_places["timeout"]
        problems.add(place, "timeout stands beside timeouts; write it as whole in that")
    whole_s = fields.read("timeout", seconds, example="60 s", default=DEFAULT_TIMEOUT_S)
    alone = TimeOuts(connect_s=whole_s, whole_s=whole_s)
    return fields.read(
        "timeouts",
        lambda node: _apart(node, problems),
        example=TIMEOUTS_EXAMPLE,
        default=alone,
    )


def _apart(node: Node, problems: Problems) -> TimeOuts:
    fields = Fields(node, problems, keys=("connect", "first_byte", "whole"))
    whole_s = fields.read("whole", seconds, example="60 s", default=DEFAULT_TIMEOUT_S)
    return TimeOuts(
        connect_s=fields.read("connect", seconds, example="2 s", default=whole_s),
        first_byte_s=fields.read("first_byte", seconds, example="5 s", default=None),
        whole_s=whole_s,
    )
