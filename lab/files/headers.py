"""HTTP headers that a load or a client sends."""

import re
from collections.abc import Mapping

from lab.files.errors import Problems, Wrong, show
from lab.files.fields import mapping, texts
from lab.files.scalars import line
from lab.files.tree import Node

_FRAMING = ("content-length", "transfer-encoding", "connection")  # the load generator's to say
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def read_headers(node: Node, problems: Problems) -> Mapping[str, str]:
    """Return HTTP headers, refusing what a server could not read."""
    for key, place in mapping(node).key_places.items():
        if not _HEADER_NAME.fullmatch(key):
            problems.add(place, f"{show(key)} is no header name; write e.g. accept-language")
        if key.lower() in _FRAMING:
            problems.add(place, f"{show(key)} is set by the load generator; leave it out")
    return texts(node, problems, _header_value, example="uk")


def _header_value(node: Node) -> str:
    value = line(node)
    if not value.isascii() or value != value.strip():
        raise Wrong(f"must be ASCII without spaces around it, got {show(value)}")
    return value
