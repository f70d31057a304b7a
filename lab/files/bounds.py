"""The `override` and `expect` lists: other numbers for some cells, and bounds on figures."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from lab.experiment import (
    ERROR_CLASS,
    REQUEST_FIGURES,
    SPEED_FIGURES,
    Comparison,
    Expectation,
    Override,
)
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, items
from lab.files.load import read_size
from lab.files.scalars import MS_PER_S, Parser, choice, whole, written
from lab.files.tree import Node
from lab.files.units import duration_s, share

MAX_REPEATS = 1000
_NUMBERS = ("requests", "for", "tasks", "rate", "repeats", "warmup")
_DURATIONS = {"mean": "mean_ms", "p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms", "max": "max_ms"}
_RATES = ("requests_per_s", "attempts_per_request")
_BOUND = re.compile(r"(==|<=|>=|<|>)?\s*(.*)", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a cell can be picked by, and the classes that its replies fall into."""

    faults: tuple[str, ...]
    clients: tuple[str, ...]
    classes: tuple[str, ...]
    requests: tuple[str, ...] = ()  # of a mix


def repeats(node: Node) -> int:
    """Return how often a cell is measured."""
    return whole(1, MAX_REPEATS)(node)


def warmup(node: Node) -> int:
    """Return how many loads go before the first measured one."""
    return whole(0, MAX_REPEATS)(node)


def read_overrides(node: Node, names: Names, problems: Problems) -> tuple[Override, ...]:
    """Return the overrides in the order of the file."""
    return items(
        node,
        problems,
        lambda node: _override(node, names, problems),
        name="override",
        example="[{client: raw, requests: 8}]",
    )


def _override(node: Node, names: Names, problems: Problems) -> Override:
    fields = Fields(node, problems, keys=("fault", "client", *_NUMBERS))
    if not any(key in fields for key in _NUMBERS) and not fields.has_unknown:
        raise Wrong("changes nothing", advice="write e.g. requests: 8")
    fault, client = _cell(fields, names)
    size = read_size(fields)
    return Override(
        fault=fault,
        client=client,
        requests=size.requests,
        duration_s=size.duration_s,
        tasks=size.tasks,
        rate_per_s=size.rate_per_s,
        repeats=fields.read("repeats", repeats, example="5", default=None),
        warmup=fields.read("warmup", warmup, example="1", default=None),
    )


def _cell(fields: Fields, names: Names) -> tuple[str | None, str | None]:
    fault = choice(names.faults, kind="fault")
    client = choice(names.clients, kind="client")
    return (
        fields.read("fault", fault, example=show(names.faults[0]), default=None),
        fields.read("client", client, example=show(names.clients[0]), default=None),
    )


def read_expectations(node: Node, names: Names, problems: Problems) -> tuple[Expectation, ...]:
    """Return the expectations, one a figure, in the order of the file."""
    found = items(
        node,
        problems,
        lambda node: _expectations(node, names, problems),
        name="expect",
        example="[{fault: none, error: 0 %}]",
    )
    return tuple(expectation for entry in found for expectation in entry)


def _expectations(node: Node, names: Names, problems: Problems) -> list[Expectation]:
    counts = (*names.classes, ERROR_CLASS)
    figures = (*counts, *_DURATIONS, *_RATES)
    keys = ("fault", "client", "request") if names.requests else ("fault", "client")
    fields = Fields(node, problems, keys=(*keys, *figures))
    if not any(key in fields for key in figures) and not fields.has_unknown:
        raise Wrong("bounds no figure", advice="write e.g. error: 0 %")
    fault, client = _cell(fields, names)
    prefix = _of_request(fields, names)
    bounds = {key: _bound(fields, key, counts) for key in figures if key in fields}
    return [
        Expectation(
            figure=prefix + _DURATIONS.get(key, key),
            comparison=bound.comparison,
            value=bound.value,
            is_share=bound.is_share,
            fault=fault,
            client=client,
        )
        for key, bound in bounds.items()
        if bound is not None
    ]


def _of_request(fields: Fields, names: Names) -> str:
    """Return what stands before the figures of the request that the bounds are for."""
    if "request" not in fields:
        return ""
    for key in fields.node.values:
        if _DURATIONS.get(key, key) in SPEED_FIGURES and _DURATIONS.get(key) not in REQUEST_FIGURES:
            what = f"{key} is not measured for one request of the mix; bound it without request"
            fields.problems.add(fields.node.key_places[key], what)
    known = choice(names.requests, kind="request of the mix")
    return fields.require("request", known, example=show(names.requests[0]), stand_in="") + "."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    comparison: Comparison
    value: float
    is_share: bool = False


def _bound(fields: Fields, key: str, counts: tuple[str, ...]) -> _Bound | None:
    if key in counts:
        return fields.read(key, _parsed(_count_or_share), example='">= 95 %"', default=None)
    if key in _DURATIONS:
        return fields.read(key, _parsed(_milliseconds), example='"< 5 ms"', default=None)
    return fields.read(key, _parsed(_number), example='">= 1000"', default=None)


def _parsed(measure: Callable[[str], tuple[float, bool]]) -> Parser[_Bound]:
    """Return a parser of `>= 3` and the like; *measure* turns the rest into (value, is share)."""

    def parse(node: Node) -> _Bound:
        match = _BOUND.fullmatch(written(node).strip())
        comparison, rest = (match[1], match[2]) if match else (None, written(node))
        value, is_share = measure(rest)
        return _Bound(
            comparison=cast("Comparison", comparison or "=="), value=value, is_share=is_share
        )

    return parse


def _count_or_share(text: str) -> tuple[float, bool]:
    if text.endswith("%"):
        return share(text), True
    value, _ = _number(text)
    if value != int(value):
        advice = f"write {value * 100:g} % for a share" if value < 1 else ""
        raise Wrong(
            f"must be a whole number of requests or a share in %, got {show(text)}", advice=advice
        )
    return value, False


def _milliseconds(text: str) -> tuple[float, bool]:
    return float(duration_s(text) * MS_PER_S), False


def _number(text: str) -> tuple[float, bool]:
    if not _PLAIN_NUMBER.fullmatch(text):
        raise Wrong(f"must be a number >= 0, with or without a comparison, got {show(text)}")
    return float(text), False
