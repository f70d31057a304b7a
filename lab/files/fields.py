"""The keys of a mapping: each read by name, unknown ones refused, all problems collected."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from lab.files.errors import Problems, Wrong, nearest, show, suggest
from lab.files.scalars import Parser, describe
from lab.files.tree import ListNode, MappingNode, Node, load

Value = TypeVar("Value")
Instead = TypeVar("Instead")


def mapping(node: Node) -> MappingNode:
    """Return *node* if it has keys, else say `Wrong`."""
    if not isinstance(node, MappingNode):
        raise Wrong(f"must be a mapping (key: value), got {describe(node)}")
    return node


def sequence(node: Node) -> ListNode:
    """Return *node* if it is a list, else say `Wrong`."""
    if not isinstance(node, ListNode):
        raise Wrong(f"must be a list, got {describe(node)}")
    return node


def root(path: Path, problems: Problems, *, keys: tuple[str, ...]) -> "Fields":
    """Return the fields of the mapping that the file at *path* is.

    Raises:
        FileError: the file cannot be read or is no mapping.
    """
    node = load(path)
    if not isinstance(node, MappingNode):
        example = f"{keys[0]}: …"
        problems.add(node.place, f"must be a mapping, got {describe(node)}; write e.g. {example}")
    problems.check()
    return Fields(node, problems, keys=keys)


class Fields:
    """A mapping with a known set of keys.

    Problems go to *problems* and reading goes on with a stand-in, so that one look at a file finds
    all of them; whoever started must call `problems.check()` before using what was read.

    Raises:
        Wrong: the node is no mapping.
    """

    def __init__(self, node: Node, problems: Problems, *, keys: tuple[str, ...]) -> None:
        self.node = mapping(node)
        self.problems = problems
        self.has_unknown = False  # then a key that seems to be missing may only be misspelt
        self._mistyped = set[str]()
        for key in self.node.values:
            if key not in keys:
                self._refuse(key, keys)

    def _refuse(self, key: str, keys: tuple[str, ...]) -> None:
        self.has_unknown = True
        if meant := nearest(key, keys):
            self._mistyped.add(meant)  # one mistake, one line: it is not missing as well
        message = f"unknown key {show(key)}; {suggest(key, keys)}"
        self.problems.add(self.node.key_places[key], message)

    def __contains__(self, key: str) -> bool:
        """Tell whether the file has *key*."""
        return key in self.node.values

    def read(
        self, key: str, parse: Parser[Value], *, example: str, default: Instead
    ) -> Value | Instead:
        """Return the value of *key*, or *default* if the file has none (or a wrong one)."""
        if key not in self.node.values:
            return default
        node = self.node.values[key]
        return self.problems.attempt(
            key,
            node.place,
            partial(parse, node),
            example=f"{key}: {example}",
            instead=default,
        )

    def require(self, key: str, parse: Parser[Value], *, example: str, stand_in: Value) -> Value:
        """Return the value of *key*; if it is missing or wrong, note that and return *stand_in*."""
        if key not in self.node.values and key not in self._mistyped:
            message = f"{key} is missing; write e.g. {key}: {example}"
            self.problems.add(self.node.place, message)
        return self.read(key, parse, example=example, default=stand_in)


def entries(
    node: Node,
    problems: Problems,
    parse: Callable[[str, Node], Value],
    *,
    example: str,
) -> dict[str, Value]:
    """Return what *parse* makes of each key and value of a mapping whose keys are free."""
    found: dict[str, Value] = {}
    for key, value in mapping(node).values.items():
        parsed = problems.attempt(
            show(key),
            value.place,
            partial(parse, key, value),
            example=f"{key}: {example}",
            instead=None,
        )
        if parsed is not None:
            found[key] = parsed
    return found


def items(
    node: Node, problems: Problems, parse: Parser[Value], *, name: str, example: str
) -> tuple[Value, ...]:
    """Return what *parse* makes of each item of a list; *name* says what an item is."""
    tried = (
        problems.attempt(name, item.place, partial(parse, item), example=example, instead=None)
        for item in sequence(node).items
    )
    return tuple(item for item in tried if item is not None)


def texts(node: Node, problems: Problems, parse: Parser[str], *, example: str) -> Mapping[str, str]:
    """Return a read-only mapping of free keys to text."""
    return MappingProxyType(
        entries(node, problems, lambda _key, value: parse(value), example=example)
    )
