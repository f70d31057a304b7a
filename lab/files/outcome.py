"""How replies are told apart: the `outcome` of a file."""

import re
from collections.abc import Callable

from lab.experiment import ERROR_CLASS, GENERATOR_ERROR, SPEED_FIGURES
from lab.files.errors import Problems, Wrong, show
from lab.files.extensions import INSTALLED, Extensions
from lab.files.fields import Fields, entries, items, mapping, sequence
from lab.files.scalars import describe, line, name, written
from lab.files.tree import ListNode, Node
from lab.touches import TOUCH_FIGURES
from loadgen import BodyPatternRule, HeaderRule, JsonFieldRule, OutcomeRule, StatusRule

OUTCOME_EXAMPLE = "{json: source, classes: [fresh, stale]}"
RESERVED = (  # columns of runs.csv that an outcome class must not be called
    *("started_utc", "fault", "client", "repeat", "requests", "tasks", "asked_per_s"),
    *(ERROR_CLASS, GENERATOR_ERROR),
    *SPEED_FIGURES,
    *("mean", "p50", "p95", "p99", "max", "runs", "duration_s", "attempts", "note", "request"),
    *TOUCH_FIGURES,
)
NO_RULE: OutcomeRule = JsonFieldRule(json_field="", classes=("",))  # until problems are raised
_STATUS = re.compile(r"[1-5](\d\d|xx)")


def read_outcome(node: Node, problems: Problems, extensions: Extensions = INSTALLED) -> OutcomeRule:
    """Return the rule by which a reply is put into a class: of a built-in kind or an extension."""
    own_kinds = [kind for kind in extensions.outcomes if kind not in _KINDS]
    known_kinds = (*_KINDS, *own_kinds)
    kinds = [kind for kind in known_kinds if kind in mapping(node).values]
    if len(kinds) > 1:
        advice = "keep one of them"
        raise Wrong(f"tells replies apart by {' and by '.join(kinds)}", advice=advice)
    kind = kinds[0] if kinds else "json"  # what is missing is said of it
    if kind in own_kinds:
        rule = extensions.read_outcome(kind, node, problems)
        for name in rule.classes if rule else ():
            _check_class(name)
        return rule or NO_RULE
    keys = (kind, "classes") if kind in _BY_VALUE else (kind,)
    fields = Fields(node, problems, keys=keys if kinds else (*known_kinds, "classes"))
    if not kinds and not fields.has_unknown:
        raise Wrong(f"has none of {', '.join(known_kinds)}", advice=f"write e.g. {OUTCOME_EXAMPLE}")
    return _KINDS[kind](fields, problems)


def is_built_in_rule(kind: str) -> bool:
    """Tell whether *kind* is a key of an outcome that needs no extension."""
    return kind in _KINDS or kind == "classes"


def _by_json(fields: Fields, problems: Problems) -> OutcomeRule:
    field = fields.require("json", name, example="source", stand_in="")
    return JsonFieldRule(json_field=field, classes=_classes(fields, problems, "[fresh, stale]"))


def _by_header(fields: Fields, problems: Problems) -> OutcomeRule:
    header = fields.require("header", _header, example="x-cache", stand_in="")
    return HeaderRule(header=header, classes=_classes(fields, problems, "[HIT, MISS]"))


def _header(node: Node) -> str:
    value = name(node)
    if not value.isascii() or re.search(r"[\s:]", value):
        raise Wrong(f"must be the name of a header, got {show(value)}")
    return value


def _by_status(fields: Fields, problems: Problems) -> OutcomeRule:
    example = "{ok: 2xx, limited: 429}"
    owners: dict[str, str] = {}

    def parse(key: str, value: Node) -> list[str]:
        _check_class(key)
        statuses = value.items if isinstance(value, ListNode) else [value]
        if not statuses:
            raise Wrong("must name at least one status, got []")
        for node in statuses:
            status = _status(node)
            if status in owners:
                raise Wrong(f"has {status}, which is {show(owners[status])} already")
            owners[status] = key
        return list(owners)

    fields.require("status", _named(parse, problems, "2xx"), example=example, stand_in=None)
    return StatusRule(statuses=owners) if owners else NO_RULE


def _status(node: Node) -> str:
    value = written(node).strip()
    if not _STATUS.fullmatch(value):
        raise Wrong(f"must be a status such as 404, or 2xx for a hundred, got {describe(node)}")
    return value


def _by_body(fields: Fields, problems: Problems) -> OutcomeRule:
    patterns: dict[str, str] = {}

    def parse(key: str, value: Node) -> str:
        _check_class(key)
        pattern = line(value)
        try:
            re.compile(pattern.encode())
        except re.error as error:
            raise Wrong(f"must be a regular expression, got {show(pattern)} ({error})") from None
        patterns[key] = pattern
        return pattern

    example = "{empty: '^\\[\\]$', full: id}"
    fields.require(
        "body", _named(parse, problems, "'\"id\": *[0-9]'"), example=example, stand_in=None
    )
    return BodyPatternRule(patterns=patterns) if patterns else NO_RULE


def _named(
    parse: Callable[[str, Node], object], problems: Problems, example: str
) -> Callable[[Node], object]:
    def read(node: Node) -> object:
        if not mapping(node).values:
            raise Wrong("must name at least one class, got {}")
        return entries(node, problems, parse, example=example)

    return read


def _classes(fields: Fields, problems: Problems, example: str) -> tuple[str, ...]:
    nothing: tuple[str, ...] = ("",)
    found = fields.require(
        "classes",
        lambda node: read_classes(node, problems, example),
        example=example,
        stand_in=nothing,
    )
    return found or nothing


def read_classes(node: Node, problems: Problems, example: str) -> tuple[str, ...]:
    """Return a list of classes, in the order of the report's columns."""
    seen: list[str] = []

    def parse(node: Node) -> str:
        value = name(node)
        _check_class(value)
        if value in seen:
            raise Wrong(f"names {show(value)} twice", advice="keep one of the two")
        seen.append(value)
        return value

    if not sequence(node).items:
        raise Wrong("must name at least one class, got []")
    return items(node, problems, parse, name="classes", example=f"classes: {example}")


def _check_class(value: str) -> None:
    if value in RESERVED or value.endswith(("_min", "_max")):
        advice = f"rename it, e.g. {value}_reply"
        raise Wrong(f"uses the name {show(value)}, which is a column of its own", advice=advice)


_BY_VALUE = ("json", "header")
_KINDS: dict[str, Callable[[Fields, Problems], OutcomeRule]] = {
    "json": _by_json,
    "status": _by_status,
    "header": _by_header,
    "body": _by_body,
}
