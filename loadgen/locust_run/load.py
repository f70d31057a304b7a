"""What Locust is to send: exactly so many requests from so many concurrent users."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class LocustLoad:
    """A closed load: each user sends its next request once its last one has ended.

    Attributes:
        url: http or https, absolute.
        requests: how many in all, >= 1.
        tasks: how many users, that is requests at a time at the most, >= 1.
        json_field: name of the field at the top of a reply's object that names its class.
        classes: the values that are classes of their own; any other reply is an error.
        headers: sent with each request.
        body: sent as UTF-8; None: without one.
        timeout_s: limit on one request, from sending to the last byte of the reply; > 0, finite.

    Raises:
        ValueError: a number is out of range, no class, or the URL is not absolute http(s).
    """

    url: str
    requests: int
    tasks: int
    json_field: str
    classes: tuple[str, ...]
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str | None = None
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be like http://127.0.0.1:8000/path, got {self.url!r}")
        for name in ("requests", "tasks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.classes:
            raise ValueError("classes must name at least one value of the JSON field, got none")
        if not (math.isfinite(self.timeout_s) and self.timeout_s > 0):
            raise ValueError(f"timeout_s must be a number above 0, got {self.timeout_s}")

    def to_document(self) -> dict[str, Any]:
        """Return the load as a JSON-ready document; `from_document` reads it back."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"headers": dict(self.headers), "classes": list(self.classes)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "LocustLoad":
        """Build a load from `to_document`'s form; `ValueError` or `TypeError` if it is not one."""
        return cls(**(dict(document) | {"classes": tuple(document["classes"])}))


def share(total: int, *, parts: int, index: int) -> int:
    """Return how many of *total* fall to part *index* of *parts*; shares differ by 1 at most.

    Raises:
        ValueError: *index* is not in 0..parts-1.
    """
    if not 0 <= index < parts:
        raise ValueError(f"index must be in 0..{parts - 1}, got {index}")
    return total // parts + (index < total % parts)
