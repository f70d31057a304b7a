"""How replies are told apart: the `outcome` of an experiment."""

import re
from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import Field, ValidationInfo

from lab.spec.models import (
    Entry,
    Spec,
    check_keys,
    entries,
    made,
    mapping,
    reading_of,
    reads,
    says,
    sequence,
)
from lab.spec.problems import Wrong
from lab.spec.quantities import Name, line, name, written
from lab.spec.yaml_tree import ListNode, Node, describe
from loadgen import BodyPatternRule, HeaderRule, JsonFieldRule, OutcomeRule, StatusRule
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR
from loadgen.quantities import show

Value = TypeVar("Value")

OUTCOME_EXAMPLE = "{json: source, classes: [fresh, stale]}"
SPEED_FIGURES = (  # columns of a run beside its outcome classes that may be bounded
    "mean_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "requests_per_s",
    "attempts_per_request",
)
TOUCH_FIGURES = ("touched", "share_hit", "share_asked")  # of each fault that tells them
RESERVED = (  # columns of runs.csv that an outcome class must not be called
    *("started_utc", "fault", "client", "repeat", "requests", "tasks", "asked_per_s"),
    *(ERROR_CLASS, GENERATOR_ERROR),
    *SPEED_FIGURES,
    *("mean", "p50", "p95", "p99", "max", "runs", "duration_s", "attempts", "note", "request"),
    *TOUCH_FIGURES,
)
_STATUS = re.compile(r"[1-5](\d\d|xx)")


def check_class(value: str) -> str:
    """Return the name of an outcome class.

    Raises:
        Wrong: it would be one of the report's own columns.
    """
    if value in RESERVED or value.endswith(("_min", "_max")):
        advice = f"rename it, e.g. {value}_reply"
        raise Wrong(f"uses the name {show(value)}, which is a column of its own", advice=advice)
    return value


def _status(node: Node) -> str:
    value = written(node).strip()
    if not _STATUS.fullmatch(value):
        raise Wrong(f"must be a status such as 404, or 2xx for a hundred, got {describe(node)}")
    return value


def _by_class(node: Node, parse: Callable[[str, Node], Value]) -> dict[str, Value]:
    if not mapping(node):
        raise Wrong("must name at least one class, got {}")
    parsed = entries(node, lambda key, value: parse(check_class(str(key)), value))
    return dict(zip(mapping(node), parsed, strict=True))


def _statuses(node: Node) -> dict[str, str]:
    """Return the class of each status."""
    owners: dict[str, str] = {}

    def parse(own_name: str, value: Node) -> None:
        statuses = value if isinstance(value, ListNode) else [value]
        if not statuses:
            raise Wrong("must name at least one status, got []")
        for status in map(_status, statuses):
            if status in owners:
                raise Wrong(f"has {status}, which is {show(owners[status])} already")
            owners[status] = own_name

    _by_class(node, parse)
    return owners


def _patterns(node: Node) -> dict[str, str]:
    return _by_class(node, lambda _, value: _pattern(value))


def _pattern(node: Node) -> str:
    pattern = line(node)
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise Wrong(f"must be a regular expression, got {show(pattern)} ({error})") from None
    return pattern


def _header(node: Node) -> str:
    value = name(node)
    if not value.isascii() or re.search(r"[\s:]", value):
        raise Wrong(f"must be the name of a header, got {show(value)}")
    return value


def _distinct_classes(node: Node) -> tuple[str, ...]:
    seen: list[str] = []

    def parse(_: str | int, each: Node) -> str:
        value = check_class(name(each))
        if value in seen:
            raise Wrong(f"names {show(value)} twice", advice="keep one of the two")
        seen.append(value)
        return value

    if not sequence(node):
        raise Wrong("must name at least one class, got []")
    return entries(node, parse)


Classes = Annotated[tuple[str, ...], reads(_distinct_classes, schema=list[str])]
_Status = Annotated[str, Field(pattern=r"^[1-5]([0-9][0-9]|xx)$")] | int


class JsonOutcome(Spec):
    """A field of the JSON body names the class."""

    json_field: Annotated[
        Name, says("source", "the text of a field of the JSON body, one of `classes`", alias="json")
    ]
    classes: Annotated[Classes, says("[fresh, stale]")]

    def rule(self) -> OutcomeRule:
        """Return the rule."""
        return JsonFieldRule(json_field=self.json_field, classes=self.classes)


class HeaderOutcome(Spec):
    """A header names the class."""

    header: Annotated[
        Annotated[str, reads(_header)], says("x-cache", "the value of a header, one of `classes`")
    ]
    classes: Annotated[Classes, says("[HIT, MISS]")]

    def rule(self) -> OutcomeRule:
        """Return the rule."""
        return HeaderRule(header=self.header, classes=self.classes)


class StatusOutcome(Spec):
    """The status says the class."""

    status: Annotated[
        dict[str, str],
        reads(_statuses, schema=dict[str, _Status | list[_Status]]),
        Entry(example="2xx"),
        says("{ok: 2xx, limited: 429}", "statuses by class: one, or a list"),
    ]

    def rule(self) -> OutcomeRule:
        """Return the rule."""
        return StatusRule(statuses=self.status)


class BodyOutcome(Spec):
    """A regular expression that is found in the body says the class."""

    body: Annotated[
        dict[str, str],
        reads(_patterns, schema=dict[str, str]),
        Entry(example="'\"id\": *[0-9]'"),
        says(
            "{empty: '^\\[\\]$', full: id}",
            "regular expressions by class; the first that is found in the body",
        ),
    ]

    def rule(self) -> OutcomeRule:
        """Return the rule."""
        return BodyPatternRule(patterns=self.body)


RULES: dict[str, type[JsonOutcome | StatusOutcome | HeaderOutcome | BodyOutcome]] = {
    "json": JsonOutcome,
    "status": StatusOutcome,
    "header": HeaderOutcome,
    "body": BodyOutcome,
}


def is_built_in_rule(kind: str) -> bool:
    """Tell whether *kind* is a key of an outcome that needs no extension."""
    return kind in RULES or kind == "classes"


def _read_outcome(node: Node, info: ValidationInfo) -> OutcomeRule:
    extensions = reading_of(info).extensions
    own_kinds = [kind for kind in extensions.outcomes if kind not in RULES]
    known = (*RULES, *own_kinds)
    kinds = [kind for kind in known if kind in mapping(node)]
    if len(kinds) > 1:
        advice = "keep one of them"
        raise Wrong(f"tells replies apart by {' and by '.join(kinds)}", advice=advice)
    if not kinds:
        check_keys(mapping(node), (*known, "classes"))
        raise Wrong(f"has none of {', '.join(known)}", advice=f"write e.g. {OUTCOME_EXAMPLE}")
    if kinds[0] in own_kinds:
        rule: OutcomeRule = extensions.read_outcome(kinds[0], mapping(node))
        for each in rule.classes:
            check_class(each)
        return rule
    return RULES[kinds[0]].model_validate(node, context=info.context).rule()


OutcomeField = Annotated[
    OutcomeRule,
    made(_read_outcome, schema=JsonOutcome | StatusOutcome | HeaderOutcome | BodyOutcome),
]
