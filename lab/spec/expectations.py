"""Other numbers for some cells, bounds on figures, and published figures.

`override`, `expect` and `reference` of an experiment: each picks cells by fault and client.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from pydantic import ConfigDict, Field, ValidationInfo

from lab.spec.load import Sized
from lab.spec.models import Entry, Spec, entries, made, says
from lab.spec.outcome import SPEED_FIGURES
from lab.spec.problems import START, Place, Problems, Wrong, check_known
from lab.spec.quantities import MS_PER_S, Line, Repeats, Warmup, written
from lab.spec.yaml_tree import MappingNode, Node, read_text
from loadgen.outcomes import ERROR_CLASS
from loadgen.quantities import QuantityError, duration_s, share, show

REQUEST_FIGURES = ("mean_ms", "p95_ms")  # of each request of a mix, beside its classes
REFERENCE_COLUMNS = ("fault", "client", "figure", "published", "low", "high", "basis")
Comparison = Literal["==", "<=", ">=", "<", ">"]
_BOUND = re.compile(r"(==|<=|>=|<|>)?\s*(.*)", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


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

    @property
    def figures(self) -> tuple[str, ...]:
        """The keys of figures that may be bounded, in the order in which they are told."""
        counts = (*self.classes, ERROR_CLASS)
        of_rows = [
            key
            for kind in (counted, lasting, in_percent, numbered)
            for key, figure in FIGURES.items()
            if figure.read is kind and (self.is_timeline or not figure.is_timed)
        ]
        return (*counts, *of_rows)


class Override(Sized):
    """Other numbers for the cells that match; None leaves the experiment's own number."""

    fault: Annotated[Line | None, says('"none"', "a row's name; all without it")] = None
    client: Annotated[Line | None, says('"raw"', "a client or a sweep; all without it")] = None
    repeats: Annotated[Repeats | None, says("5", "measured loads")] = None
    warmup: Annotated[Warmup | None, says("1", "loads before them")] = None

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield keys that exclude each other, and an override of nothing."""
        yield from super().key_problems(node, is_complete=is_complete)
        if is_complete and not node.keys() - {"fault", "client"}:
            yield Wrong("changes nothing", advice="write e.g. requests: 8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A bound on a figure's median in every cell that matches; none and all are of every run.

    `figure` is an outcome class or `error` (as a share of requests, 0..1, if `is_share`, else a
    count), or one of `SPEED_FIGURES`.
    """

    figure: str
    comparison: Comparison
    value: float
    is_share: bool = False
    fault: str | None = None
    client: str | None = None

    @property
    def says_none(self) -> bool:
        """Whether it allows nothing at all, in any run: one of five would not move the median."""
        return self.value == 0 and self.comparison in {"==", "<="}

    @property
    def says_all(self) -> bool:
        """Whether it wants all requests of all runs."""
        return self.is_share and self.value == 1 and self.comparison in {"==", ">="}


def counted(text: str) -> tuple[float, bool]:
    """Return a number of requests, or a share and True."""
    if text.endswith("%"):
        return share(text), True
    value, _ = numbered(text)
    if value != int(value):
        advice = f"write {value * 100:g} % for a share" if value < 1 else ""
        raise Wrong(
            f"must be a whole number of requests or a share in %, got {show(text)}", advice=advice
        )
    return value, False


def in_percent(text: str) -> tuple[float, bool]:
    """Return a share that may be over 1, and True."""
    number, sign, rest = text.partition("%")
    if not sign or rest or not _PLAIN_NUMBER.fullmatch(number.strip()):
        raise Wrong(f"must be a number of percent, got {show(text)}")
    return float(number) / 100, True


def lasting(text: str) -> tuple[float, bool]:
    """Return a duration in milliseconds."""
    return float(duration_s(text) * MS_PER_S), False


def numbered(text: str) -> tuple[float, bool]:
    """Return a plain number."""
    if not _PLAIN_NUMBER.fullmatch(text):
        raise Wrong(f"must be a number >= 0, with or without a comparison, got {show(text)}")
    return float(text), False


class Figure(NamedTuple):
    """A key of `expect` that is no class: the figure that it bounds, and how a bound is read."""

    figure: str
    read: Callable[[str], tuple[float, bool]]  # (value, is a share)
    is_timed: bool = False  # only a timeline has it


_EXAMPLES: dict[Callable[[str], tuple[float, bool]], str] = {
    counted: '">= 95 %"',
    lasting: '"< 5 ms"',
    in_percent: '"<= 100 %"',
    numbered: '">= 1000"',
}
FIGURES = {
    "not_sent": Figure("not_sent", counted, is_timed=True),
    "sent_late": Figure("sent_late", counted, is_timed=True),
    "unwell_after": Figure("unwell_after", counted, is_timed=True),
    "mean": Figure("mean_ms", lasting),
    "p50": Figure("p50_ms", lasting),
    "p95": Figure("p95_ms", lasting),
    "p99": Figure("p99_ms", lasting),
    "max": Figure("max_ms", lasting),
    "breaker_opens": Figure("breaker_opens_ms", lasting, is_timed=True),
    "first_unwell": Figure("first_unwell_ms", lasting, is_timed=True),
    "detected": Figure("detected_ms", lasting, is_timed=True),
    "first_well": Figure("first_well_ms", lasting, is_timed=True),
    "recovered": Figure("recovered_ms", lasting, is_timed=True),
    "budget_spent": Figure("budget_spent", in_percent, is_timed=True),
    "worst_second": Figure("worst_second", in_percent, is_timed=True),
    "requests_per_s": Figure("requests_per_s", numbered),
    "attempts_per_request": Figure("attempts_per_request", numbered),
}
BOUND = (
    Annotated[float, Field(ge=0)]
    | Annotated[str, Field(pattern=r"^\s*(==|<=|>=|<|>)?\s*[0-9.]+\s*(%|ms|s|min|h)?\s*$")]
)


class Bound(NamedTuple):
    """What a figure is compared with."""

    comparison: Comparison
    value: float
    is_share: bool


def _read_bounds(node: Node, info: ValidationInfo) -> dict[str, Bound]:
    """Return the bounds by figure, which is a class unless it is one of `FIGURES`."""
    del info

    def parse(key: str | int, value: Node) -> Bound:
        figure = FIGURES.get(str(key), Figure(str(key), counted))
        match = _BOUND.fullmatch(written(value).strip())
        comparison, rest = (match[1], match[2]) if match else (None, written(value))
        try:
            number, is_share = figure.read(rest)
        except QuantityError as error:
            advice = error.advice or f"write e.g. {key}: {_EXAMPLES[figure.read]}"
            raise Wrong(error.what, advice=advice) from None
        return Bound(cast("Comparison", comparison or "=="), number, is_share)

    assert isinstance(node, MappingNode)  # noqa: S101 - the rest of one
    return dict(zip(node, entries(node, parse), strict=True))


def _say_figures(schema: dict[str, Any]) -> None:
    """Let a JSON Schema tell the figures that there always are, and take the classes."""
    bound = schema["properties"].pop("bounds")["additionalProperties"]
    schema["properties"] |= dict.fromkeys((ERROR_CLASS, *FIGURES), bound)
    schema["additionalProperties"] = bound


class Expect(Spec):
    """Bounds on figures in every cell that matches."""

    model_config = ConfigDict(json_schema_extra=_say_figures)
    others: ClassVar = "bounds"
    fault: Annotated[Line | None, Field(description="a row; all without it")] = None
    phase: Annotated[Line | None, Field(description="of a timeline, in place of `fault`")] = None
    client: Annotated[Line | None, Field(description="a client or a sweep; all without it")] = None
    request: Annotated[Line | None, Field(description="a request of the mix")] = None
    bounds: Annotated[dict[str, Bound], made(_read_bounds, schema=dict[str, BOUND])] = {}

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield an expectation of nothing."""
        if is_complete and not node.keys() - cls.file_keys().keys():
            yield Wrong("bounds no figure", advice="write e.g. error: 0 %")

    def expectations(self) -> Iterator[Expectation]:
        """Yield one expectation per figure."""
        for key, bound in self.bounds.items():
            figure = FIGURES[key].figure if key in FIGURES else key
            yield Expectation(
                figure=f"{self.request}.{figure}" if self.request else figure,
                comparison=bound.comparison,
                value=bound.value,
                is_share=bound.is_share,
                fault=self.fault or self.phase,
                client=self.client,
            )


def _read_expectations(node: Node, info: ValidationInfo) -> tuple[Expectation, ...]:
    found = entries(node, lambda _, each: Expect.model_validate(each, context=info.context))
    return tuple(expectation for each in found for expectation in each.expectations())


OverridesField = Annotated[
    tuple[Override, ...], Entry(name="override", example="[{client: raw, requests: 8}]")
]
ExpectField = Annotated[
    tuple[Expectation, ...],
    made(_read_expectations, schema=list[Expect]),
    Entry(name="expect", example="[{fault: none, error: 0 %}]"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A figure as its source printed it, and the band in which ours is taken to agree with it."""

    fault: str
    client: str
    figure: str  # an outcome class (a count), `error`, `mean_ms`, `requests_per_s`, ...
    published: float
    low: float  # the band's ends belong to it
    high: float
    basis: str  # how the band was chosen


def read_reference(path: Path, names: Names) -> tuple[PublishedFigure, ...]:
    """Return the published figures in the file at *path*.

    Columns: fault, client and figure name a cell's figure, `published` and the band's ends `low`
    and `high` are in the figure's unit, `basis` says how the band was chosen.

    Raises:
        FileError: the file cannot be read, names what the experiment does not have, or has a
            number that is none or a published figure outside its own band.
    """
    problems = Problems(path)
    found: dict[tuple[str, str, str], PublishedFigure] = {}
    for line, row in _rows(read_text(path), problems):
        with problems.at("the row", Place(line=line, column=1)):
            figure = _figure(row, names)
            key = (figure.fault, figure.client, figure.figure)
            if key in found:
                what = f"gives {show(figure.figure)} of this cell again"
                raise Wrong(what, advice="keep one of the two")
            found[key] = figure
    problems.check()
    return tuple(found.values())


def _rows(text: str, problems: Problems) -> list[tuple[int, dict[str, str]]]:
    """Return (line, cells by column) of each row."""
    lines = csv.reader(io.StringIO(text), strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = next(lines, [])
        if tuple(header) != REFERENCE_COLUMNS:
            expected = ",".join(REFERENCE_COLUMNS)
            problems.add(START, f"the header is {show(','.join(header))}; write {expected}")
            return []
        for cells in lines:
            if len(cells) != len(REFERENCE_COLUMNS):
                message = f"{len(cells)} cells instead of {len(REFERENCE_COLUMNS)}"
                place = Place(line=lines.line_num, column=1)
                problems.add(place, f"{message}; quote commas in text")
            else:
                rows.append((lines.line_num, dict(zip(REFERENCE_COLUMNS, cells, strict=True))))
    except csv.Error as error:
        place = Place(line=max(lines.line_num, 1), column=1)
        problems.add(place, f"no CSV ({error}); fix the quotes")
    return rows


def _figure(row: dict[str, str], names: Names) -> PublishedFigure:
    check_known(row["fault"], names.faults, kind="fault")
    check_known(row["client"], names.clients, kind="client")
    check_known(row["figure"], (*names.classes, ERROR_CLASS, *SPEED_FIGURES), kind="figure")
    published, low, high = (_number(row, column) for column in ("published", "low", "high"))
    if not low <= published <= high:
        what = f"has the published {published:g} outside its own band {low:g} to {high:g}"
        raise Wrong(what, advice="widen the band or correct the figure")
    return PublishedFigure(
        fault=row["fault"],
        client=row["client"],
        figure=row["figure"],
        published=published,
        low=low,
        high=high,
        basis=row["basis"],
    )


def _number(row: dict[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Wrong(
            f"has {column} {show(row[column])}, which is no number", advice="write e.g. 200"
        )
    return value
