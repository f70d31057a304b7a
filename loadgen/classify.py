"""From a reply to its outcome: pure, so that what counts as an error stands in one place."""

import json
from typing import NamedTuple

from loadgen.load import ERROR_CLASS, OutcomeRule


class Outcome(NamedTuple):
    """A reply's class, and for `error` the reason in a few words (else empty)."""

    name: str
    error: str = ""


def classify_reply(status: int, body: bytes, rule: OutcomeRule) -> Outcome:
    """Return the outcome of a complete reply.

    Args:
        status: HTTP status; only 2xx can be of a named class.
        body: the reply's content, decompressed.
        rule: which field names the class.
    """
    if not 200 <= status < 300:  # noqa: PLR2004 - the range of success in RFC 9110
        return Outcome(ERROR_CLASS, f"status {status}")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return Outcome(ERROR_CLASS, "body is not JSON")
    if not isinstance(document, dict) or rule.json_field not in document:
        return Outcome(ERROR_CLASS, f"no field {rule.json_field!r} in the body")
    value = document[rule.json_field]
    if value not in rule.classes:
        return Outcome(ERROR_CLASS, f"{rule.json_field} is {str(value)[:40]!r}, not a known class")
    return Outcome(value)
