"""The grammar of a `link` fault: what the proxy on a link is asked for.

One key says what happens, with its main figure or `true`; the others say how. The names on the
right are those of `fault_proxy.faults.documents`.
"""

from dataclasses import dataclass
from types import MappingProxyType

from lab.fault_kinds import LinkFault
from lab.files.chaos import read_match, true
from lab.files.errors import Problems, Wrong
from lab.files.fields import Fields
from lab.files.links import LINK_EXAMPLE, link_of
from lab.files.scalars import (
    MS_PER_S,
    Parser,
    choice,
    describe,
    fraction,
    whole,
    whole_ms,
    whole_s,
    written,
)
from lab.files.tree import MappingNode, Node
from lab.files.units import size_bytes
from lab.links.toxics import UnsupportedError, toxics_of
from lab.system import Link, System

_MAX_MS = 600 * MS_PER_S
_MAX_COUNT = 10**9
_MAX_BYTES = 10**12
_MAX_BYTES_PER_S = 10**10
_MAX_PIECE_BYTES = 2**20
_DIRECTIONS = ("upstream", "downstream", "both")
_OF_BYTES = ("direction", "share")
_OF_REQUESTS = ("share", "match")


@dataclass(frozen=True, slots=True)
class _Kind:
    wire: str
    figure: str | None  # the wire's name of the key's value; None: the value is true
    parse: Parser[object]
    example: str
    how: tuple[str, ...]  # further keys


def _ms(minimum: int) -> Parser[int]:
    def parse(node: Node) -> int:
        value = whole_ms(node)
        if not minimum <= value <= _MAX_MS:
            raise Wrong(f"must be from {minimum} ms to 10 min, got {describe(node)}")
        return value

    return parse


def _bytes(minimum: int, maximum: int) -> Parser[int]:
    def parse(node: Node) -> int:
        value = size_bytes(written(node))
        if not minimum <= value <= maximum:
            raise Wrong(f"must be from {minimum} to {maximum} bytes, got {describe(node)}")
        return value

    return parse


def _bytes_per_s(node: Node) -> int:
    size, slash, unit = written(node).rpartition("/")
    if not slash or unit.strip() != "s":
        raise Wrong(f"must be a size a second, got {describe(node)}")
    value = size_bytes(size)
    if not 1 <= value <= _MAX_BYTES_PER_S:
        raise Wrong(f"must be from 1 to {_MAX_BYTES_PER_S} bytes a second, got {describe(node)}")
    return value


def _more_than_none(node: Node) -> float:
    value = fraction(node)
    if not value:
        raise Wrong(f"must be more than 0, got {describe(node)}")
    return value


_PIECE = _bytes(1, _MAX_PIECE_BYTES)
_STATUS = whole(400, 599)
_KINDS = {
    "latency": _Kind("latency", "delayMs", _ms(0), "200ms", ("jitter", *_OF_BYTES)),
    "bandwidth": _Kind("bandwidth", "bytesPerS", _bytes_per_s, "10 KiB/s", _OF_BYTES),
    "slice": _Kind("slicing", "pieceBytes", _PIECE, "100 B", ("every", *_OF_BYTES)),
    "blackHole": _Kind("blackHole", None, true, "true", _OF_BYTES),
    "reset": _Kind("reset", None, true, "true", ("afterBytes", "afterTime", *_OF_BYTES)),
    "refuse": _Kind("refused", None, true, "true", ()),
    "halfClose": _Kind("halfClosed", None, true, "true", ("afterBytes", *_OF_BYTES)),
    "limit": _Kind("limit", "bytes", _bytes(0, _MAX_BYTES), "10 KiB", _OF_BYTES),
    "corrupt": _Kind("corruption", "share", _more_than_none, "1 %", _OF_BYTES),
    "status": _Kind("status", "status", _STATUS, "503", ("retryAfter", *_OF_REQUESTS)),
    "delay": _Kind("delay", "delayMs", _ms(0), "500ms", ("jitter", *_OF_REQUESTS)),
    "drip": _Kind("drip", "pieceBytes", _PIECE, "1 B", ("every", *_OF_REQUESTS)),
    "truncate": _Kind("truncation", None, true, "true", ("keep", *_OF_REQUESTS)),
    "failFirst": _Kind(
        "failFirst", "requests", whole(1, _MAX_COUNT), "3", ("status", "retryAfter", "match")
    ),
}
_HOW: dict[str, tuple[str, Parser[object], str]] = {  # key -> (wire name, parser, example)
    "jitter": ("jitterMs", _ms(0), "50ms"),
    "every": ("pauseMs", _ms(1), "10ms"),
    "afterBytes": ("afterBytes", _bytes(0, _MAX_BYTES), "4 KiB"),
    "afterTime": ("afterMs", _ms(0), "2 s"),
    "keep": ("keepBytes", _bytes(0, _MAX_BYTES), "100 B"),
    "status": ("status", _STATUS, "503"),
    "retryAfter": ("retryAfterS", whole_s, "2 s"),
    "direction": ("direction", choice(_DIRECTIONS, kind="direction"), "downstream"),
    "share": ("rate", fraction, "30 %"),
    "seed": ("seed", whole(0, _MAX_COUNT), "7"),
}


def read_link_fault(node: MappingNode, system: System, problems: Problems) -> LinkFault:
    """Return the fault of a mapping with the key `link`."""
    key = _kind_of(node, problems)
    if key is None:
        return LinkFault(link=_NO_LINK, document=MappingProxyType({}))
    kind = _KINDS[key]
    fields = Fields(node, problems, keys=("link", key, *kind.how, "seed"))
    document: dict[str, object] = {"kind": kind.wire}
    value = fields.read(key, kind.parse, example=kind.example, default=None)
    if kind.figure:
        document[kind.figure] = value
    for how in (*kind.how, "seed"):
        if how in fields:
            name, parse, example = _how(how, problems)
            document[name] = fields.read(how, parse, example=example, default=None)
    link = fields.require("link", link_of(system), example=LINK_EXAMPLE, stand_in=_NO_LINK)
    if system.toxiproxy and value is not None:
        _check_toxiproxy(document)
    return LinkFault(link=link, document=MappingProxyType(document))


_NO_LINK = Link(source="", target="")


def _kind_of(node: MappingNode, problems: Problems) -> str | None:
    """Return the key that says what happens; None if one was meant that is misspelt."""
    kinds = [key for key in _KINDS if key in node.values]
    if "failFirst" in kinds and "status" in kinds:  # which says how the first fail
        kinds.remove("status")
    if len(kinds) == 1:
        return kinds[0]
    every_key = ("link", *_KINDS, *_HOW, "match")
    if not kinds and Fields(node, problems, keys=every_key).has_unknown:
        return None
    got = " and ".join(kinds) or "none of them"
    raise Wrong(
        f"on a link must have exactly one of the keys {', '.join(_KINDS)}, got {got}",
        advice="make each a fault of its own, e.g. {link: front -> rates, latency: 200ms}",
    )


def _how(key: str, problems: Problems) -> tuple[str, Parser[object], str]:
    if key == "match":
        return "match", lambda node: read_match(node, problems), "{path: /rates, method: GET}"
    return _HOW[key]


def _check_toxiproxy(document: dict[str, object]) -> None:
    try:
        toxics_of(document)
    except UnsupportedError as unsupported:
        raise Wrong(
            f"cannot be had of Toxiproxy: {unsupported}",
            advice="change it, or remove toxiproxy from the system file: the lab's own proxy can",
        ) from None
