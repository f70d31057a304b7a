"""Every error as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
_NAMES = {  # of RFC 9110; Python's own table has older ones before 3.13
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
_OUR_OWN_WORDS = "Value error, "  # pydantic's prefix to what a validator of ours says


class ProblemError(Exception):
    """Raised by a handler to answer with a problem.

    Args:
        status: The HTTP status, 400..599.
        detail: For a person: what happened, the value, the next step.
        fields: For a 422, what is wrong with which field.
        headers: Of the reply, beside its media type.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.fields = fields
        self.headers = headers


def problem(
    status: int,
    detail: str | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an RFC 9457 response; *fields* become `errors: [{field, message}]`."""
    body: dict[str, object] = {"type": "about:blank", "title": title(status), "status": status}
    if detail:
        body["detail"] = detail
    if fields:
        body["errors"] = [{"field": name, "message": text} for name, text in fields.items()]
    return Response(orjson.dumps(body), status, headers, MEDIA_TYPE)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what `responses=` of a FastAPI route says of the problems that it may answer with."""
    content = {MEDIA_TYPE: {"schema": {"type": "object"}}}
    return {status: {"description": title(status), "content": content} for status in statuses}


def title(status: int) -> str:
    """Return the reason phrase of *status*, or `Error` for a number that has none."""
    return _NAMES.get(status) or _pythons_phrase(status)


def _pythons_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def install_problems(app: Starlette) -> None:
    """Make *app* (Starlette or FastAPI) answer every error with a problem."""
    app.add_exception_handler(ProblemError, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(Exception, _on_crash)


async def _on_problem(_: Request, error: Exception) -> Response:
    raised = cast("ProblemError", error)
    return problem(raised.status, raised.detail, fields=raised.fields, headers=raised.headers)


async def _on_http_exception(_: Request, error: Exception) -> Response:
    raised = cast("HTTPException", error)
    status, detail = raised.status_code, raised.detail
    says_nothing = detail in {title(status), _pythons_phrase(status)}  # Starlette's default
    return problem(status, None if says_nothing else detail, headers=raised.headers)


async def _on_invalid_request(_: Request, error: Exception) -> Response:
    raised = cast("RequestValidationError", error)
    fields = {_field(each["loc"]): _words(each) for each in raised.errors()}
    return problem(422, f"invalid: {', '.join(fields)}", fields=fields)


def _field(location: Sequence[str | int]) -> str:
    # The first part says where FastAPI looked: query, path, header or body.
    return ".".join(str(part) for part in location[1:]) or str(location[0])


def _words(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing":
        return "is missing"
    return str(error["msg"]).removeprefix(_OUR_OWN_WORDS)


async def _on_crash(_: Request, __: Exception) -> Response:
    # The server logs the traceback; the caller learns nothing about the inside.
    return problem(500)
