"""From a reply that Locust's client got to its outcome: pure, and free of Locust.

It classes as the lab's own load generator does: a 2xx reply belongs to the class that a field of
its JSON object names, all else is an error.
"""

import json
from collections.abc import Collection
from typing import NamedTuple

ERROR = "error"


class Outcome(NamedTuple):
    """A reply's class; for `error` also a short label for a table and the reason in a few words."""

    name: str
    label: str  # `fresh`, `error 503`, `error body`, `error no reply`: few, whatever happens
    error: str = ""


def outcome_of(
    *, status: int | None, body: bytes, failure: str, field: str, classes: Collection[str]
) -> Outcome:
    """Return the outcome of a request.

    Args:
        status: HTTP status; None (or Locust's 0) where no status line came.
        body: the reply's content, decompressed.
        failure: why there is no complete reply, or empty.
        field: name of the field at the top of the reply's object that names the class.
        classes: the values of *field* that are classes of their own.
    """
    if not status:
        return Outcome(ERROR, "error no reply", failure or "no reply")
    if not 200 <= status < 300:  # noqa: PLR2004 - the range of success in RFC 9110
        return Outcome(ERROR, f"error {status}", f"status {status}")
    if failure:
        return Outcome(ERROR, "error body", failure)
    why, value = _named(body, field, classes)
    return Outcome(ERROR, "error body", why) if why else Outcome(value, value)


def _named(body: bytes, field: str, classes: Collection[str]) -> tuple[str, str]:
    """Return why *body* names no class, or an empty string and the class."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return "body is not JSON", ""
    if not isinstance(document, dict) or field not in document:
        return f"no field {field!r} in the body", ""
    value = document[field]
    if not isinstance(value, str) or value not in classes:
        return f"{field} is {str(value)[:40]!r}, not a known class", ""
    return "", value
