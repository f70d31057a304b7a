"""YAML text as mappings, sequences and scalars that know where they stand.

Built on ruamel's events rather than its objects: a scalar keeps the text that was written, each
value keeps its line and column, and what these files have no use for (tags, anchors, aliases,
merge keys, several documents) is refused where it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from ruamel.yaml.reader import ReaderError

from lab.files.errors import START, FileError, Place, Problem, Wrong, show
from lab.files.grammar import explain
from lab.files.source import read_text

MAX_DEPTH = 20
MAX_NODES = 20_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_NOT_TEXT = re.compile(  # what YAML 1.2 reads as null, boolean or number, and 1.1's merge key
    r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|<<"
    r"|[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value as it was written, without its quotes."""

    place: Place
    text: str
    is_text: bool  # quoted, or plain and neither null, boolean nor number

    @property
    def is_null(self) -> bool:
        """Whether nothing was written, or YAML's word for it."""
        return not self.is_text and self.text in {"", "~", "null", "Null", "NULL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNode:
    """Values in order."""

    place: Place
    items: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingNode:
    """Values by key, in the order of the file; each key is text and stands once."""

    place: Place
    values: dict[str, "Node"] = field(default_factory=dict)
    key_places: dict[str, Place] = field(default_factory=dict)


Node = Scalar | ListNode | MappingNode


def load(path: Path) -> Node:
    """Return the one document of the YAML file at *path*.

    Raises:
        FileError: the file cannot be read, is not YAML 1.2, is empty, holds more than
            `MAX_NODES` values or `MAX_DEPTH` levels, or uses what this module refuses.
    """
    text = read_text(path)
    try:
        return _Builder(_events(text)).document()
    except Wrong as wrong:
        message = f"{wrong.what}; {wrong.advice}"
        problem = Problem(path=path, place=wrong.place or START, message=message)
        raise FileError([problem]) from None


def _events(text: str) -> Iterator[Any]:
    """Yield ruamel's events (it has no types), its errors in our words."""
    place = START
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            place = _place(event)
            yield event
    except MarkedYAMLError as error:
        raise explain(error) from None
    except ReaderError as error:
        before = text[: error.position]
        column = error.position - (before.rfind("\n") + 1) + 1
        place = Place(line=before.count("\n") + 1, column=column)
        what = f"character U+{ord(text[error.position]):04X} is not allowed in YAML"
        raise Wrong(what, advice="remove it", place=place) from None
    except Exception as error:  # noqa: BLE001 - the scanner lets slips of its own through
        what = f"cannot be read as YAML after this point ({_slip(error)})"
        raise Wrong(what, advice="check the escapes and quotes that follow", place=place) from None


def _slip(error: Exception) -> str:
    # chr() of an escape such as "\\U99999999"; which of the two it raises depends on the Python.
    if isinstance(error, ValueError | OverflowError):
        return "an escape that is no character of Unicode"
    return type(error).__name__


def _place(event: Any) -> Place:  # noqa: ANN401 - ruamel's events have no types
    return Place(line=event.start_mark.line + 1, column=event.start_mark.column + 1)


class _Builder:
    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._nodes = 0

    def document(self) -> Node:
        self._expect(StreamStartEvent)
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            raise Wrong("the file is empty", advice="write at least one key", place=START)
        self._check_start(start)
        node = self._node(next(self._events), depth=1)
        self._expect(DocumentEndEvent)
        end = next(self._events)
        if not isinstance(end, StreamEndEvent):
            advice = "keep one document a file"
            raise Wrong('a second document starts here ("---")', advice=advice, place=_place(end))
        return node

    def _expect(self, kind: type) -> None:
        event = next(self._events)
        if not isinstance(event, kind):
            raise Wrong(
                "more than one value", advice="keep one mapping a file", place=_place(event)
            )

    def _check_start(self, event: Any) -> None:  # noqa: ANN401
        if not isinstance(event, DocumentStartEvent):
            raise Wrong("is no document", advice="write at least one key", place=_place(event))
        if event.version or event.tags:
            advice = "remove the line that starts with %"
            raise Wrong("a %YAML or %TAG line is not used here", advice=advice, place=_place(event))

    def _node(self, event: Any, *, depth: int) -> Node:  # noqa: ANN401
        self._check(event, depth)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, depth)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(event, depth)
        return _scalar(event)

    def _check(self, event: Any, depth: int) -> None:  # noqa: ANN401
        place = _place(event)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Wrong(f"over {MAX_NODES} values", advice="split the file", place=place)
        if depth > MAX_DEPTH:
            advice = "no key here needs more than a handful"
            raise Wrong(f"nested over {MAX_DEPTH} levels deep", advice=advice, place=place)
        if isinstance(event, AliasEvent):
            what = f"the alias {show('*' + event.anchor)} is not used here"
            raise Wrong(what, advice="write the value out, or quote it if it is text", place=place)
        if event.anchor is not None:
            what = f"the anchor {show('&' + event.anchor)} is not used here"
            raise Wrong(what, advice="remove it, or quote the value if it is text", place=place)
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            what = f"the tag {show(tag)} is not used here"
            raise Wrong(what, advice="remove it, or quote the value if it is text", place=place)

    def _sequence(self, start: Any, depth: int) -> ListNode:  # noqa: ANN401
        sequence = ListNode(place=_place(start))
        while not isinstance(event := next(self._events), SequenceEndEvent):
            sequence.items.append(self._node(event, depth=depth + 1))
        return sequence

    def _mapping(self, start: Any, depth: int) -> MappingNode:  # noqa: ANN401
        mapping = MappingNode(place=_place(start))
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = _add_key(mapping, self._node(event, depth=depth + 1))
            mapping.values[key] = self._node(next(self._events), depth=depth + 1)
        return mapping


def _scalar(event: ScalarEvent) -> Scalar:
    text = str(event.value)
    if control := _CONTROL.search(text):
        what = f"character U+{ord(control[0]):04X} is not allowed in a value"
        raise Wrong(what, advice="remove it", place=_place(event))
    if event.style is not None:
        return Scalar(place=_place(event), text=text, is_text=True)
    return plain_scalar(text, _place(event))


def plain_scalar(text: str, place: Place) -> Scalar:
    """Return what *text* is without quotes: text, number, boolean or null."""
    return Scalar(place=place, text=text, is_text=not _NOT_TEXT.fullmatch(text))


def _key_text(key: Node) -> str:
    if not isinstance(key, Scalar):
        raise Wrong("a key is a list or a mapping", advice="write plain text", place=key.place)
    if not key.is_text:
        advice = "write out the keys that it would bring" if key.text == "<<" else _quote(key.text)
        raise Wrong(f"the key {show(key.text)} is not text", advice=advice, place=key.place)
    if not key.text.strip() or "\n" in key.text:
        what = f"the key {show(key.text)} must be one line of text"
        raise Wrong(what, advice="give it a name", place=key.place)
    return key.text


def _quote(text: str) -> str:
    return f"quote it: {show(text)}"


def _add_key(mapping: MappingNode, key: Node) -> str:
    text = _key_text(key)
    if text in mapping.key_places:
        first = mapping.key_places[text].line
        what = f"the key {show(text)} stands here again, first in line {first}"
        raise Wrong(what, advice="keep one of the two", place=key.place)
    mapping.key_places[text] = key.place
    return text
