"""Errors as `application/problem+json` (RFC 9457), for every service and control of ours.

It stands here because `chaos` is useful alone: it imports nothing else of the project.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"

_NAMES = {  # of RFC 9110; Python's own table has older ones before 3.13
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}


def problem(
    status: int,
    detail: str | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem response; *fields* become `errors: [{field, message}]`."""
    body: dict[str, object] = {"type": "about:blank", "title": title(status), "status": status}
    if detail:
        body["detail"] = detail
    if fields:
        body["errors"] = [{"field": name, "message": text} for name, text in fields.items()]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair, which a caller can send in JSON, has no UTF-8: it goes back escaped.
    return Response(text.encode(errors="backslashreplace"), status, headers, MEDIA_TYPE)


def title(status: int) -> str:
    """Return the reason phrase of *status*, or `Error` for a number that has none."""
    try:
        return _NAMES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Error"
