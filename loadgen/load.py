"""What a load is: the request, how many of them, from how many tasks, and the classes of reply."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

ERROR_CLASS = "error"
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRule:
    """A 2xx JSON reply belongs to the class named by one of its fields; all else is an error.

    Attributes:
        json_field: name of a field at the top of the reply's object.
        classes: the values that are classes of their own, at least one, `error` not among them.

    Raises:
        ValueError: no class, a class twice, or a class called `error`.
    """

    json_field: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.classes or len(set(self.classes)) != len(self.classes):
            raise ValueError(f"classes must be distinct and at least one, got {self.classes!r}")
        if ERROR_CLASS in self.classes:
            raise ValueError(f"the class {ERROR_CLASS!r} is what no other class matches; drop it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A closed load: exactly `requests` requests by `tasks` concurrent tasks, each one in turn.

    Attributes:
        url: http or https, absolute.
        requests: how many in all, >= 1.
        tasks: how many at a time at the most, >= 1.
        timeout_s: limit on one request, from sending to the last byte of the reply; > 0, finite.
        body: sent as UTF-8.

    Raises:
        ValueError: a number is out of range or the URL is not absolute http(s).
    """

    url: str
    requests: int
    tasks: int
    outcome: OutcomeRule
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str | None = None
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if not _is_absolute_http(self.url):
            raise ValueError(f"url must be like http://127.0.0.1:8000/path, got {self.url!r}")
        if framing := _FRAMING & {name.lower() for name in self.headers}:
            raise ValueError(f"the header {min(framing)} is the load generator's; leave it out")
        for name in ("requests", "tasks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not (math.isfinite(self.timeout_s) and self.timeout_s > 0):
            raise ValueError(f"timeout_s must be a number above 0, got {self.timeout_s}")

    def to_document(self) -> dict[str, Any]:
        """Return the load as a JSON-ready document; `from_document` reads it back."""
        plain_headers = {"headers": dict(self.headers)}
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | plain_headers | {"outcome": asdict(self.outcome)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Load":
        """Build a load from `to_document`'s form; `ValueError` or `TypeError` if it is not one."""
        outcome = document["outcome"]
        rule = OutcomeRule(json_field=outcome["json_field"], classes=tuple(outcome["classes"]))
        return cls(**(dict(document) | {"outcome": rule}))


def _is_absolute_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # which raises for a port out of range
        host.encode("idna")
    except ValueError:  # UnicodeError is one
        return False
    return parts.scheme in ("http", "https") and bool(host)
