"""Errors of this package as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse

_NAMES = {  # of RFC 9110; Python's own table has older ones before 3.13
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}


def problem(
    status: int,
    detail: str,
    *,
    fields: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem response; *fields* become `errors: [{field, message}]`."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": _title(status),
        "status": status,
        "detail": detail,
    }
    if fields:
        body["errors"] = [{"field": name, "message": text} for name, text in fields.items()]
    return JSONResponse(body, status, headers, "application/problem+json")


def _title(status: int) -> str:
    try:
        return _NAMES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Error"
