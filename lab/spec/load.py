"""What is sent, how much of it and when: the `load` of an experiment."""

import csv
import io
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo
from pydantic.json_schema import SkipJsonSchema

from lab.spec.models import Entry, Spec, by_name, made, mapping, reads, says
from lab.spec.problems import START, Place, Problems, Wrong, suggest
from lab.spec.quantities import (
    MAX_REQUESTS,
    BesideFile,
    Headers,
    Rate,
    RequestCount,
    RequestName,
    Seconds,
    TaskCount,
    Text,
    line,
    name,
    one_of,
    text,
    whole,
    whole_number,
    written,
)
from lab.spec.yaml_tree import MappingNode, Node, Scalar, describe, read_text
from loadgen import TimeOuts
from loadgen.quantities import show

EMPTY: Mapping[str, str] = MappingProxyType({})
MAX_MIX = 50
MAX_WORKERS = 1000
MAX_BODY_BYTES = 8_000_000  # of all bodies of a request together
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
REQUEST_EXAMPLE = "GET {front.url}/convert"
STEADY_STATE_EXAMPLE = "{requests: 20}"
_DEFAULT_TIMEOUT_S = 60.0
_LAST_PORT = 65_535
_MAX_SEED = 10**9
_TEMPLATE_EXAMPLE = '\'{"id": "{{id}}"}\''
_VALUE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_TO_A_SERVICE = re.compile(r"\{[^{}]+\.url\}(?=[/?]|$)")


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


class Sized(Spec):
    """How much is sent and when: of a load, or in place of a load's own."""

    requests: Annotated[RequestCount | None, says("200", "how many are sent")] = None
    duration_s: Annotated[
        Seconds | None, says("30 s", "for how long they are sent", alias="for")
    ] = None
    tasks: Annotated[
        TaskCount | None,
        says("4", "closed model: so many send, one request after another, up to 10000"),
    ] = None
    rate_per_s: Annotated[
        Rate | None,
        says(
            "100/s",
            "open model: requests fall due at this rate, whatever became of those before",
            alias="rate",
        ),
    ] = None

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield the second of two keys that exclude each other."""
        del is_complete
        for one, other in (("requests", "for"), ("tasks", "rate")):
            if one in node and other in node:
                yield _beside(other, one, "keep one of the two")

    def value_problems(self) -> Iterator[Wrong]:
        """Yield a rate at which nothing, or too much, falls due."""
        if self.duration_s and self.rate_per_s:
            wrong = why_wrong_number(self.duration_s * self.rate_per_s)
            if wrong:
                yield Wrong(f"rate {wrong}", name="", advice="change for", at="rate")


def why_wrong_number(requests: float, where: str = "") -> str | None:
    """Return why a rate over a time must not come to so many *requests*; None if it may."""
    if 1 <= round(requests) <= MAX_REQUESTS:
        return None
    return f"comes to {requests:g} requests{where}, must be 1 to {MAX_REQUESTS}"


def _beside(key: str, other: str, advice: str) -> Wrong:
    return Wrong(f"{key} stands beside {other}", name="", advice=advice, at=key)


class Body(Spec):
    """A body in a file, or made from the rows of a table."""

    file: Annotated[BesideFile | None, says("order.json", "holds the body")] = None
    template: Annotated[
        Text | None,
        says(_TEMPLATE_EXAMPLE, "text whose `{{name}}` takes a row's value of that column"),
    ] = None
    values: Annotated[BesideFile | None, says("orders.csv", "a CSV with a row for each body")] = (
        None
    )
    shuffle: Annotated[
        int | None, whole_number(0, _MAX_SEED), says("7", "seed of another order of the rows")
    ] = None

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield what is there without what it is for."""
        if is_complete and ("file" in node) == ("template" in node):
            got = "both" if "file" in node else "neither"
            advice = f"write e.g. body: {{template: {_TEMPLATE_EXAMPLE}, values: orders.csv}}"
            yield Wrong(f"must have either file or template, got {got}", advice=advice)
        elif is_complete and "values" not in node:
            if "template" in node:
                yield Wrong("has a template without values", advice="add e.g. values: orders.csv")
            if "shuffle" in node:
                advice = "add e.g. values: orders.csv, or remove shuffle"
                yield Wrong("shuffles nothing", advice=advice)

    def texts(self) -> tuple[str, ...]:
        """Return the bodies that are sent in turn, at least one.

        Raises:
            FileError: a file cannot be read.
            Wrong: the template does not fit the table.
        """
        template = self.template if self.file is None else read_text(self.file)
        assert template is not None  # noqa: S101 - one of the two is there
        if self.values is None:
            return (template,)
        bodies = _filled(template, _rows(self.values), self.values)
        if self.shuffle is not None:
            bodies = random.Random(self.shuffle).sample(bodies, len(bodies))
        return tuple(bodies)


def _read_body(node: Node, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(node, MappingNode):
        return (text(node),)
    return Body.model_validate(node, context=info.context).texts()


def _rows(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of a table, each by the names of its first line."""
    problems = Problems(path)
    lines = csv.reader(io.StringIO(read_text(path)), strict=True)
    rows: list[Mapping[str, str]] = []
    try:
        header = next(lines, [])
        if not header or not all(header) or len(set(header)) != len(header):
            shown = show(",".join(header))
            problems.add(START, f"the header is {shown}; write distinct names, e.g. id,amount")
            problems.check()
        for cells in lines:
            if len(cells) == len(header):
                rows.append(dict(zip(header, cells, strict=True)))
            elif cells:
                message = f"{len(cells)} cells instead of {len(header)}; quote commas in text"
                problems.add(Place(line=lines.line_num, column=1), message)
    except csv.Error as error:
        place = Place(line=max(lines.line_num, 1), column=1)
        problems.add(place, f"no CSV ({error}); fix the quotes")
    problems.check()
    if not rows:
        problems.add(START, "there is no row of values; write at least one below the header")
    problems.check()
    return rows


def _filled(template: str, rows: Sequence[Mapping[str, str]], path: Path) -> list[str]:
    """Return the template with each row's values in place of `{{name}}`, as they stand."""
    used = _VALUE.findall(template)
    for one in used:
        if one not in rows[0]:
            what = f"has {show('{{' + one + '}}')}, which is no column of {path.name}"
            raise Wrong(what, advice=suggest(one, rows[0]))
    if not used:
        names = ", ".join("{{" + each + "}}" for each in rows[0])
        raise Wrong(f"has none of the values of {path.name}", advice=f"write one of {names}")
    bodies: list[str] = []
    size = 0
    for row in rows:
        bodies.append(_fill(template, row))
        size += len(bodies[-1].encode())
        if size > MAX_BODY_BYTES:
            what = f"comes to over {MAX_BODY_BYTES} bytes in {len(bodies)} of {len(rows)} rows"
            raise Wrong(what, advice="take fewer rows or a shorter template")
    return bodies


def _fill(template: str, row: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda match: row[match[1]], template)


def _request_line(node: Node) -> tuple[str, str]:
    words = name(node).split()
    if len(words) != 2:  # noqa: PLR2004 - a method and an address
        raise Wrong(f"must be a method and an address, got {show(name(node))}")
    method, url = words
    if method not in METHODS:
        meant = method.upper() if method.upper() in METHODS else "GET"
        raise Wrong(f"has the unknown method {show(method)}", advice=f"write e.g. {meant}")
    if not url.isascii():
        raise Wrong(f"must be ASCII, got {show(url)}", advice="write the rest as %XX")
    if not _TO_A_SERVICE.match(url):
        raise Wrong(f"must go to a service of the system, got {show(url)}")
    return method, url


RequestLine = Annotated[
    tuple[str, str], reads(_request_line, schema=Annotated[str, Field(pattern=r"^[A-Z]+ +\{")])
]
Bodies = Annotated[tuple[str, ...], made(_read_body, schema=str | Body)]  # sent in turn


class MixedRequest(Spec):
    """One request of a mix."""

    name: SkipJsonSchema[str]
    request: Annotated[
        RequestLine,
        says(REQUEST_EXAMPLE, "a method and an address that begins with `{service.url}`"),
    ]
    weight: Annotated[
        int,
        whole_number(1, 1_000_000),
        says("9", "how often a request of the mix comes, relative to the others"),
    ] = 1
    headers: Annotated[Headers, Entry(example="uk"), says("{accept: application/json}")] = {}
    body: Annotated[Bodies, says("'{\"amount\": 100}'")] = ()


def _whole_mix(node: Node) -> Node:
    if not 1 <= len(mapping(node)) <= MAX_MIX:
        raise Wrong(f"must name 1 to {MAX_MIX} requests, got {len(mapping(node))}")
    return node


class Limits(Spec):
    """Time-outs of a request, apart."""

    connect: Annotated[Seconds | None, says("2 s")] = None
    first_byte: Annotated[Seconds | None, says("5 s")] = None
    whole: Annotated[Seconds, says("60 s")] = _DEFAULT_TIMEOUT_S


def _address(node: Node) -> tuple[str, int]:
    value = line(node)
    host, _, port = value.rpartition(":")
    if not host.strip("[]") or not port.isdecimal() or not 1 <= int(port) <= _LAST_PORT:
        raise Wrong(f"must be an address and a port of this machine, got {show(value)}")
    return host.strip("[]"), int(port)


def _kept_or_not(node: Node) -> str:
    value = written(node)
    if value not in {"kept", "per_request"}:
        raise Wrong(f"must be kept or per_request, got {describe(node)}")
    return value


class LoadKeys(Sized):
    """The keys of a `load`; `load` is what they say together."""

    request: Annotated[
        RequestLine | None,
        says(REQUEST_EXAMPLE, "a method and an address that begins with `{service.url}`"),
    ] = None
    mix: Annotated[
        tuple[MixedRequest, ...],
        by_name(MixedRequest, key=RequestName),
        reads(_whole_mix, schema=dict[RequestName, MixedRequest]),
        Entry(example=f"{{request: {REQUEST_EXAMPLE}}}"),
        says(
            "{browse: {request: GET {shop.url}/items, weight: 9}, buy: {…}}",
            "up to 50 named requests, each with `request`, `weight`, `headers`, `body`",
        ),
    ] = ()
    headers: Annotated[
        Headers,
        Entry(example="uk"),
        says(
            "{accept: application/json}",
            "of every request; a client's and a mix's own go before them",
        ),
    ] = {}
    body: Annotated[
        Bodies,
        says(
            "'{\"amount\": 100}'",
            "text; `{file: order.json}`; or `{template: …, values: orders.csv}`, whose "
            "`{{name}}` takes a row's value of that column, row by row; `shuffle: 7` seeds another "
            "order",
        ),
    ] = ()
    timeout: Annotated[
        Seconds | None,
        says(
            "60 s",
            "for all of a request; one that takes longer is an error; `60 s` where it is left out",
        ),
    ] = None
    timeouts: Annotated[
        Limits | None,
        says(
            "{connect: 2 s, first_byte: 5 s, whole: 60 s}",
            "the same apart: `connect`, `first_byte`, `whole` (in place of `timeout`)",
        ),
    ] = None
    connections: Annotated[
        Literal["kept", "per_request"],
        reads(_kept_or_not, schema=Literal["kept", "per_request"]),
        says(
            "per_request",
            "`kept`: a connection is used again for the next request, if the service allows it; "
            "`per_request`: each request has its own",
        ),
    ] = "kept"
    engine: Annotated[
        Literal["own", "locust"],
        one_of(("own", "locust"), kind="engine", schema=Literal["own", "locust"]),
        says(
            "locust",
            "`locust` sends a closed load of a number of requests from "
            "[Locust's processes](locust.md)",
        ),
    ] = "own"
    workers: Annotated[
        int, whole_number(0, MAX_WORKERS), says("2", "how many of them the lab starts")
    ] = 0
    remote_workers: Annotated[
        int, whole_number(1, MAX_WORKERS), says("2", "how many are started elsewhere")
    ] = 0
    bind: Annotated[
        tuple[str, int] | None,
        reads(_address),
        says("192.168.1.4:5557", "address and port at which those call"),
    ] = None

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield keys that exclude each other, or that lack another."""
        yield from super().key_problems(node, is_complete=is_complete)
        for key in ("request", "body"):
            if key in node and "mix" in node:
                yield _beside(key, "mix", "write it into one of the mix's requests")
        if is_complete and not {"request", "mix"} & node.keys():
            yield Wrong(
                "is missing", name="request", advice=f"write e.g. request: {REQUEST_EXAMPLE}"
            )
        if {"timeout", "timeouts"} <= node.keys():
            yield _beside("timeout", "timeouts", "write it as whole in that")
        yield from _engine_problems(node, is_complete=is_complete)

    def load(self) -> Load:
        """Return what the keys say together."""
        requests = [
            _request(each.request, each.body, _merged(self.headers, each.headers), each)
            for each in self.mix
        ]
        if self.request is not None:
            requests = [_request(self.request, self.body, self.headers)]
        return Load(
            mix=tuple(requests),
            requests=self.requests,
            duration_s=self.duration_s,
            tasks=self.tasks,
            rate_per_s=self.rate_per_s,
            time_outs=self._time_outs(),
            keep_alive=self.connections == "kept",
            locust=self._locust(),
        )

    def _time_outs(self) -> TimeOuts:
        """Return the limits; alone, `timeout` is one on all of a request, connecting included."""
        limits = self.timeouts or Limits(whole=self.timeout or _DEFAULT_TIMEOUT_S)
        return TimeOuts(
            connect_s=limits.connect or limits.whole,
            first_byte_s=limits.first_byte,
            whole_s=limits.whole,
        )

    def _locust(self) -> LocustWorkers | None:
        if self.engine == "own":
            return None
        host, port = self.bind or ("127.0.0.1", None)
        return LocustWorkers(
            here=self.workers, elsewhere=self.remote_workers, bind_host=host, bind_port=port
        )


def _engine_problems(node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
    engine = node.get("engine")
    is_locust = isinstance(engine, Scalar) and engine.text == "locust"
    if not is_locust:
        is_own = engine is None or (isinstance(engine, Scalar) and engine.text == "own")
        for key in ("workers", "remote_workers", "bind") if is_own else ():
            if key in node:
                what = f"{key} is for engine: locust"
                yield Wrong(what, name="", advice="add that or leave it out", at=key)
    elif "remote_workers" in node:
        if "bind" not in node and is_complete:
            yield Wrong("is missing", name="bind", advice="write e.g. bind: 192.168.1.4:5557")
    else:
        if "bind" in node:
            what = "bind is where remote_workers call"
            yield Wrong(what, name="", advice="add those or leave it out", at="bind")
        workers = node.get("workers")
        if workers is None and is_complete:
            yield Wrong("is missing", name="workers", advice="write e.g. workers: 2")
        elif isinstance(workers, Scalar) and workers.text == "0":
            what = 'must be a whole number >= 1, got "0"'
            yield Wrong(what, name="workers", advice="write e.g. workers: 2", place=workers.place)


def _request(
    line: tuple[str, str],
    bodies: tuple[str, ...],
    headers: Mapping[str, str],
    mixed: MixedRequest | None = None,
) -> Request:
    return Request(
        method=line[0],
        url=line[1],
        headers=headers,
        body=bodies[0] if len(bodies) == 1 else None,
        bodies=bodies if len(bodies) > 1 else (),
        name=mixed.name if mixed else "",
        weight=mixed.weight if mixed else 1,
    )


def _merged(common: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Return *own* headers on top of the *common* ones, in whatever case either has a name."""
    names = {key.lower() for key in own}
    return {key: value for key, value in common.items() if key.lower() not in names} | dict(own)


LoadField = Annotated[
    Load,
    made(
        lambda node, info: LoadKeys.model_validate(node, context=info.context).load(),
        schema=LoadKeys,
    ),
]


def _tries(node: Node) -> int:
    if isinstance(node, Scalar) and node.text == "0":
        raise Wrong('must be at least 1, got "0"', advice="write steady_state: none to send none")
    return int(whole(1, MAX_REQUESTS)(node))


class SteadyStateKeys(Spec):
    """The keys of a `steady_state`."""

    requests: Annotated[
        int,
        reads(_tries, schema=Annotated[int, Field(ge=1, le=MAX_REQUESTS)]),
        says("20", "how many, from 1"),
    ] = SteadyState().requests
    request: Annotated[
        RequestLine | None,
        says(
            REQUEST_EXAMPLE,
            "a method and an address, as in the load, in place of the load's; it has the client's "
            "query and headers. Any 2xx is a success, whatever the experiment's rule says of it",
        ),
    ] = None
    headers: Annotated[
        Headers, Entry(example="uk"), says("{accept: application/json}", "of that request")
    ] = {}
    body: Annotated[Bodies, says("'{\"amount\": 100}'", "of that request")] = ()

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield what is of a request that is not there."""
        for key in ("headers", "body"):
            if key in node and "request" not in node:
                what = f"{key} is for a request of its own"
                yield Wrong(what, name="", advice=f"add request, or remove {key}", at=key)
        if is_complete and not node:
            advice = f"write e.g. steady_state: {STEADY_STATE_EXAMPLE}"
            yield Wrong("says nothing, got {}", advice=advice)

    def steady_state(self) -> SteadyState:
        """Return what the keys say together."""
        if self.request is None:
            return SteadyState(requests=self.requests)
        own = _request(self.request, self.body, self.headers)
        return SteadyState(requests=self.requests, request=own)


def _read_steady_state(node: Node, info: ValidationInfo) -> SteadyState | None:
    if isinstance(node, MappingNode):
        return SteadyStateKeys.model_validate(node, context=info.context).steady_state()
    if isinstance(node, Scalar) and node.text == "none":
        return None
    raise Wrong(
        f"must be none, or say its requests, got {describe(node)}",
        advice=f"write none, or e.g. {STEADY_STATE_EXAMPLE}",
    )


SteadyStateField = Annotated[
    SteadyState | None,
    made(_read_steady_state, schema=SteadyStateKeys | Literal["none"]),
]
