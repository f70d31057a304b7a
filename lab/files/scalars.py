"""One value of a file: what it must be, or why it is not.

Each function takes a node and either returns the value or raises `Wrong`; those that are made for
a range or a choice return such a function.
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from lab.files.errors import Wrong, show, suggest
from lab.files.tree import ListNode, MappingNode, Node, Scalar
from lab.files.units import duration_s, mebibytes, share

Value = TypeVar("Value")
Parser = Callable[[Node], Value]

_WHOLE = re.compile(r"[-+]?\d{1,1000}")
MS_PER_S = 1000


def describe(node: Node) -> str:
    """Return what stands there, for the end of `must be …, got …`."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    return "nothing" if node.is_null else show(node.text)


def written(node: Node) -> str:
    """Return a scalar's text, quoted or not: a number with a unit, a bound."""
    if not isinstance(node, Scalar) or node.is_null:
        raise Wrong(f"must be a single value, got {describe(node)}")
    return node.text


def text(node: Node) -> str:
    """Return text of any number of lines; it may be empty if it is quoted."""
    if not isinstance(node, Scalar) or node.is_null:
        raise Wrong(f"must be text, got {describe(node)}")
    if not node.is_text:
        raise Wrong(f"must be text, got {describe(node)}", advice=f"quote it: {show(node.text)}")
    return node.text


def line(node: Node) -> str:
    """Return one line of text, empty only if it is quoted."""
    value = text(node)
    if "\n" in value:
        raise Wrong(f"must be one line of text, got {show(value)}", advice="remove the line break")
    return value


def name(node: Node) -> str:
    """Return one line of text with at least one visible character."""
    value = line(node)
    if not value.strip():
        raise Wrong(f"must not be empty, got {show(value)}")
    return value


def http_path(node: Node) -> str:
    """Return a path on a service, such as `/health`."""
    value = line(node)
    if not value.startswith("/") or any(character.isspace() for character in value):
        raise Wrong(f"must be a path that starts with /, got {show(value)}")
    return value


def whole(minimum: int, maximum: int) -> Parser[int]:
    """Return a parser of plain whole numbers from *minimum* to *maximum*."""

    def parse(node: Node) -> int:
        value = _whole(node)
        if value is None or value < minimum:
            raise Wrong(f"must be a whole number >= {minimum}, got {describe(node)}")
        if value > maximum:
            raise Wrong(f"must be a whole number <= {maximum}, got {describe(node)}")
        return value

    return parse


def _whole(node: Node) -> int | None:
    if isinstance(node, Scalar) and not node.is_text and _WHOLE.fullmatch(node.text):
        return int(node.text)
    return None


def choice(known: Iterable[str], *, kind: str) -> Parser[str]:
    """Return a parser of one of the names *known*; *kind* says what they name."""
    names = tuple(known)

    def parse(node: Node) -> str:
        value = line(node)
        if value not in names:
            raise Wrong(f"names {show(value)}, which is no {kind}", advice=suggest(value, names))
        return value

    return parse


def seconds(node: Node) -> float:
    """Return a duration in seconds, more than 0."""
    value = duration_s(written(node))
    if value == 0:
        raise Wrong(f"must be more than 0, got {describe(node)}")
    return float(value)


def whole_ms(node: Node) -> int:
    """Return a duration in whole milliseconds, from 0."""
    value = duration_s(written(node)) * MS_PER_S
    if value != int(value):
        raise Wrong(f"must be whole milliseconds, got {describe(node)}")
    return int(value)


def whole_s(node: Node) -> int:
    """Return a duration in whole seconds, from 0."""
    value = duration_s(written(node))
    if value != int(value):
        raise Wrong(f"must be whole seconds, got {describe(node)}")
    return int(value)


def whole_mib(node: Node) -> int:
    """Return a size in whole MiB, from 1."""
    return mebibytes(written(node))


def fraction(node: Node) -> float:
    """Return a share in [0, 1]."""
    return share(written(node))
