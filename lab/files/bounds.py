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
    Experiment,
    Override,
)
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, items
from lab.files.load import comes_to, is_wrong_number, read_size
from lab.files.scalars import MS_PER_S, Parser, choice, whole, written
from lab.files.tree import Node
from lab.files.units import duration_s, share
from lab.plan import plan

MAX_REPEATS = 1000
_NUMBERS = ("requests", "for", "tasks", "rate", "repeats", "warmup")
_DURATIONS = {"mean": "mean_ms", "p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms", "max": "max_ms"}
_RATES = ("requests_per_s", "attempts_per_request")
_BOUND = re.compile(r"(==|<=|>=|<|>)?\s*(.*)", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


_TIMED_COUNTS = ("not_sent", "sent_late", "unwell_after")
_TIMED_DURATIONS = {
    "breaker_opens": "breaker_opens_ms",
    "first_unwell": "first_unwell_ms",
    "detected": "detected_ms",
    "first_well": "first_well_ms",
    "recovered": "recovered_ms",
}
_TIMED_SHARES = ("budget_spent", "worst_second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a cell can be picked by, and the classes that its replies fall into."""

    faults: tuple[str, ...]  # of a timeline: its phases, events and the whole
    clients: tuple[str, ...]
    classes: tuple[str, ...]
    requests: tuple[str, ...] = ()  # of a mix
    is_timeline: bool = False

    @property
    def row(self) -> str:
        """The key that picks one of `faults`."""
        return "phase" if self.is_timeline else "fault"


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


def check_sizes(experiment: Experiment) -> None:
    """Say `Wrong` if an override's time at the load's rate, or the reverse, holds no request."""
    for cell in plan(experiment):
        if cell.requests is None and cell.rate_per_s and cell.duration_s:
            number = cell.rate_per_s * cell.duration_s
            if is_wrong_number(number):
                what = comes_to(number, f" in {show(cell.name)}")
                raise Wrong(what, advice="change rate or for")


def _cell(fields: Fields, names: Names) -> tuple[str | None, str | None]:
    fault = choice(names.faults, kind=names.row)
    client = choice(names.clients, kind="client")
    return (
        fields.read(names.row, fault, example=show(names.faults[0]), default=None),
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
    parsers = _parsers(names)
    picks = (names.row, "client", "request") if names.requests else (names.row, "client")
    fields = Fields(node, problems, keys=(*picks, *parsers))
    if not any(key in fields for key in parsers) and not fields.has_unknown:
        raise Wrong("bounds no figure", advice="write e.g. error: 0 %")
    fault, client = _cell(fields, names)
    prefix = _of_request(fields, names)
    bounds = {
        key: fields.read(key, each.parse, example=each.example, default=None)
        for key, each in parsers.items()
        if key in fields
    }
    return [
        Expectation(
            figure=prefix + parsers[key].figure,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """A key of `expect`: the figure that it bounds, and how the bound is read."""

    figure: str
    parse: Parser[_Bound]
    example: str


def _parsers(names: Names) -> dict[str, _Figure]:
    """Return the keys of an expectation in the order in which they are checked."""
    counts: tuple[str, ...] = (*names.classes, ERROR_CLASS)
    durations = dict(_DURATIONS)
    shares: tuple[str, ...] = ()
    if names.is_timeline:
        counts, shares = (*counts, *_TIMED_COUNTS), _TIMED_SHARES
        durations |= _TIMED_DURATIONS
    read = {key: (key, _count_or_share, '">= 95 %"') for key in counts}
    read |= {key: (figure, _milliseconds, '"< 5 ms"') for key, figure in durations.items()}
    read |= {key: (key, _percent, '"<= 100 %"') for key in shares}
    read |= {key: (key, _number, '">= 1000"') for key in _RATES}
    return {
        key: _Figure(figure=figure, parse=_parsed(measure), example=example)
        for key, (figure, measure, example) in read.items()
    }


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


def _percent(text: str) -> tuple[float, bool]:
    number, sign, rest = text.partition("%")
    if not sign or rest or not _PLAIN_NUMBER.fullmatch(number.strip()):
        raise Wrong(f"must be a number of percent, got {show(text)}")
    return float(number) / 100, True


def _milliseconds(text: str) -> tuple[float, bool]:
    return float(duration_s(text) * MS_PER_S), False


def _number(text: str) -> tuple[float, bool]:
    if not _PLAIN_NUMBER.fullmatch(text):
        raise Wrong(f"must be a number >= 0, with or without a comparison, got {show(text)}")
    return float(text), False
