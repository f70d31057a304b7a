"""Rules that put a reply into a class, as values; what no rule names is of class `error`.

A new kind of rule is a dataclass here with `classes`, a line in `_KINDS`, and its decision in
`loadgen/classify.py`. A rule that is only of use to one user is a `CodeRule`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

from loadgen.code import CodeError, describe, load_object

ERROR_CLASS = "error"
GENERATOR_ERROR = (
    "generator_error"  # of requests that the generator could not send, by its own want
)
_STATUS = re.compile(r"[1-5](\d\d|xx)")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFieldRule:
    """A 2xx JSON reply belongs to the class named by one of its fields.

    Attributes:
        json_field: name of a field at the top of the reply's object.
        classes: the values that are classes of their own, at least one, `error` not among them.

    Raises:
        ValueError: no class, a class twice, or a class called `error`.
    """

    json_field: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_classes(self.classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRule:
    """A reply belongs to the class of its status.

    Attributes:
        statuses: class by status (`404`) or range of statuses (`2xx`); a status goes before its
            range. For instance `{"2xx": "ok", "404": "unknown"}`.

    Raises:
        ValueError: no entry, a key that is no status, or a class called `error`.
    """

    statuses: Mapping[str, str]

    def __post_init__(self) -> None:
        for status in self.statuses:
            if not _STATUS.fullmatch(status):
                raise ValueError(f"statuses must be like 404 or 2xx, got {status!r}")
        _check_classes(self.classes)

    @property
    def classes(self) -> tuple[str, ...]:
        """The named classes, in the order of their first mention."""
        return tuple(dict.fromkeys(self.statuses.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderRule:
    """A 2xx reply belongs to the class named by one of its headers.

    Attributes:
        header: name, in any case.
        classes: the values that are classes of their own, at least one, `error` not among them.

    Raises:
        ValueError: no class, a class twice, or a class called `error`.
    """

    header: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_classes(self.classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyPatternRule:
    """A 2xx reply belongs to the first class whose pattern occurs in its body.

    Attributes:
        patterns: regular expression by class, tried in this order on the bytes of the body;
            characters beyond ASCII match as UTF-8.

    Raises:
        ValueError: no pattern, one that is no regular expression, or a class called `error`.
    """

    patterns: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, pattern in self.patterns.items():
            try:
                re.compile(pattern.encode())
            except re.error as problem:
                raise ValueError(
                    f"the pattern of {name!r} is no regular expression: {problem}, got {pattern!r}"
                ) from problem
        _check_classes(self.classes)

    @property
    def classes(self) -> tuple[str, ...]:
        """The named classes, in the order in which their patterns are tried."""
        return tuple(self.patterns)


class Reply(NamedTuple):
    """A whole reply, as an outcome rule of a user's own sees it."""

    status: int  # 200..599
    headers: Mapping[str, str]  # by name in lower case
    body: bytes  # its content coding taken off


class OutcomeCode(Protocol):
    """What the class of a `CodeRule` makes: an outcome rule of a user's own.

    Attributes:
        classes: the classes that it knows, at least one, `error` not among them; the first is the
            one that is hoped for.
    """

    classes: Sequence[str]

    def classify(self, reply: Reply) -> str:
        """Return one of the classes; anything else is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRule:
    """A reply belongs to the class that code of a user's own finds for it.

    Attributes:
        code: `path/to/file.py:Name` or `package.module:Name` of a class that makes an
            `OutcomeCode`.
        options: its keyword arguments; JSON values.
        made: the `OutcomeCode`, made anew in each process.

    Raises:
        ValueError: the code cannot be loaded, refuses the options, or has no `classes`.
    """

    code: str
    options: Mapping[str, Any]
    made: OutcomeCode = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make = load_object(self.code)
        try:
            made = make(**self.options)
        except (Exception, SystemExit) as problem:
            raise CodeError(f"{self.code} refuses its options: {describe(problem)}") from problem
        try:
            _check_classes(tuple(made.classes))
        except (AttributeError, TypeError, ValueError) as problem:
            raise CodeError(f"{self.code} has wrong classes: {problem}") from problem
        object.__setattr__(self, "made", made)

    @property
    def classes(self) -> tuple[str, ...]:
        """The named classes, in the rule's own order."""
        return tuple(self.made.classes)


OutcomeRule = JsonFieldRule | StatusRule | HeaderRule | BodyPatternRule | CodeRule

_KINDS: Mapping[str, Callable[..., OutcomeRule]] = {  # by the field that only this kind has
    "json_field": JsonFieldRule,
    "statuses": StatusRule,
    "header": HeaderRule,
    "patterns": BodyPatternRule,
    "code": CodeRule,
}


def rule_to_document(rule: OutcomeRule) -> dict[str, Any]:
    """Return a rule as a JSON-ready document of its fields."""
    values = {field.name: getattr(rule, field.name) for field in fields(rule) if field.init}
    return {name: dict(v) if isinstance(v, Mapping) else v for name, v in values.items()}


def rule_from_document(document: Mapping[str, Any]) -> OutcomeRule:
    """Build a rule from `rule_to_document`'s form; `ValueError` or `TypeError` if it is not one."""
    kinds = [kind for field, kind in _KINDS.items() if field in document]
    if len(kinds) != 1:
        raise ValueError(f"outcome must have one of {', '.join(_KINDS)}, got {sorted(document)}")
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
    return kinds[0](**values)


def _check_classes(classes: tuple[str, ...]) -> None:
    if not classes or len(set(classes)) != len(classes):
        raise ValueError(f"classes must be distinct and at least one, got {classes!r}")
    if ERROR_CLASS in classes:
        raise ValueError(f"the class {ERROR_CLASS!r} is what no other class matches; drop it")
    if GENERATOR_ERROR in classes:
        raise ValueError(f"the class {GENERATOR_ERROR!r} is the generator's own; choose another")
