"""YAML text as mappings, sequences and scalars that know where they stand.

Built on ruamel's events rather than its objects: a scalar keeps the text that was written, each
value keeps its line and column, and what these files have no use for (tags, anchors, aliases,
merge keys, several documents) is refused where it stands.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

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

from lab.spec.problems import START, FileError, Place, Problem, Wrong
from loadgen.quantities import show

MAX_BYTES = 1_000_000  # a hand-written file has a few thousand
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


class ListNode(list["Node"]):
    """Values in order."""

    def __init__(self, place: Place, items: Iterable["Node"] = ()) -> None:
        super().__init__(items)
        self.place = place


class MappingNode(dict[str, "Node"]):
    """Values by key, in the order of the file; each key is text and stands once.

    Attributes:
        place: of the mapping.
        key_places: of its keys.
        own_key: under which the mapping itself stands; empty in a list and at the top.
    """

    def __init__(self, place: Place, values: Mapping[str, "Node"] | None = None) -> None:
        super().__init__(values or {})
        self.place = place
        self.key_places: dict[str, Place] = dict.fromkeys(self, place)
        self.own_key = ""


Node = Union[Scalar, ListNode, MappingNode]  # noqa: UP007 - it refers to itself


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
        problem = Problem(path=path, place=wrong.place or START, message=str(wrong))
        raise FileError([problem]) from None


def _events(text: str) -> Iterator[Any]:
    """Yield ruamel's events (it has no types), its errors in our words."""
    place = START
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            place = _place(event)
            yield event
    except MarkedYAMLError as error:
        raise _explain(error) from None
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
        sequence = ListNode(_place(start))
        while not isinstance(event := next(self._events), SequenceEndEvent):
            sequence.append(self._node(event, depth=depth + 1))
        return sequence

    def _mapping(self, start: Any, depth: int) -> MappingNode:  # noqa: ANN401
        mapping = MappingNode(_place(start))
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = _add_key(mapping, self._node(event, depth=depth + 1))
            value = self._node(next(self._events), depth=depth + 1)
            if isinstance(value, MappingNode):
                value.own_key = key
            mapping[key] = value
        return mapping


def _scalar(event: ScalarEvent) -> Scalar:
    text = str(event.value)
    if control := _CONTROL.search(text):
        what = f"character U+{ord(control[0]):04X} is not allowed in a value"
        raise Wrong(what, advice="remove it", place=_place(event))
    if event.style is not None:
        return Scalar(place=_place(event), text=text, is_text=True)
    return plain_scalar(text, _place(event))


def describe(node: Node) -> str:
    """Return what stands there, for the end of `must be …, got …`."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    return "nothing" if node.is_null else show(node.text)


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


def read_text(path: Path) -> str:
    """Return the text of the UTF-8 file at *path*, without a byte order mark.

    Raises:
        FileError: missing, no file, unreadable, over `MAX_BYTES`, or not UTF-8.
    """
    content = _read_bytes(path)
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"the file has over {MAX_BYTES} bytes; keep it to what a person wrote")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise _refusal(path, message, Place(line=line, column=column)) from None


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.exists():
            raise _refusal(path, "there is no such file; check the path")
        if not path.is_file():  # a pipe or a device would block or never end
            raise _refusal(path, "this is not a file; name a YAML file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _refusal(path, f"cannot be read ({reason}); check its permissions") from None
    except ValueError as error:  # a NUL in the path
        raise _refusal(path, f"is no path ({error}); check it") from None


def _refusal(path: Path, message: str, place: Place = START) -> FileError:
    return FileError([Problem(path=path, place=place, message=message)])


_OPENED = {  # what the parser was reading -> what was left open
    "while scanning a quoted scalar": "the quote that opens here is never closed",
    "while scanning a double-quoted scalar": "the quote that opens here is never closed",
    "while parsing a flow sequence": 'the "[" that opens here is never closed',
    "while parsing a flow mapping": 'the "{" that opens here is never closed',
}
_KNOWN = (  # a part of the parser's words, what happened, the next step
    ("character '\\t'", "a tab stands where YAML wants spaces", "indent with spaces"),
    ("cannot start any token", "this character cannot start a value", "put the value in quotes"),
    (
        "mapping values are not allowed here",
        'a second ":" stands in this line, or the line is indented too far',
        "quote the value or align the line with its neighbours",
    ),
    (
        "could not find expected ':'",
        'a key here lacks its ":"',
        "write key: value, and quote text that spans lines",
    ),
    (
        "expected '<document start>'",
        "something stands after the end of the one value",
        "keep one mapping a file",
    ),
    (
        "<block end>",
        "this line does not fit the indentation above it",
        "align it with its neighbours",
    ),
    (
        "expected ',' or",
        'a "," or a closing bracket is missing',
        "close the bracket that was opened",
    ),
    (
        "unknown escape character",
        "this is no escape that YAML knows",
        "write \\\\ for a backslash, or use single quotes",
    ),
)


def _explain(error: MarkedYAMLError) -> Wrong:
    """Return *error* as what is wrong, at the place a person would look at."""
    problem = " ".join(str(error.problem or error.context or "unknown reason").split())
    place = _marked(error.problem_mark) or _marked(error.context_mark) or START
    opened = _OPENED.get(str(error.context))
    if opened and ("stream end" in problem or "end of stream" in problem):
        return Wrong(opened, advice="close it", place=_marked(error.context_mark) or place)
    for words, what, advice in _KNOWN:
        if words in problem:
            return Wrong(what + _in_line(error), advice=advice, place=place)
    what = f"this is not YAML: {problem}"
    return Wrong(what, advice="check the quotes and the indentation here", place=place)


def _marked(mark: object) -> Place | None:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    return Place(line=line + 1, column=column + 1)


def _in_line(error: MarkedYAMLError) -> str:
    """Return the line that the parser stopped in, to be told apart from its neighbours."""
    mark = error.problem_mark
    buffer, line = getattr(mark, "buffer", None), getattr(mark, "line", None)
    if not isinstance(buffer, str) or not isinstance(line, int):
        return ""
    lines = buffer.rstrip("\0").splitlines()
    return f" in {show(lines[line].strip())}" if line < len(lines) and lines[line].strip() else ""
