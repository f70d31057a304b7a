"""Every error of an application as `application/problem+json` (RFC 9457)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chaos.problems import MEDIA_TYPE, problem, title

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError

Handler = Callable[[Request, Exception], Awaitable[Response]]
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


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what `responses=` of a FastAPI route says of the problems that it may answer with."""
    content = {MEDIA_TYPE: {"schema": {"type": "object"}}}
    return {status: {"description": title(status), "content": content} for status in statuses}


def install_problems(app: Starlette) -> None:
    """Make *app*, a FastAPI service, answer every error with a problem."""
    # FastAPI takes 0.3 s to import, which a control does without.
    from fastapi.exceptions import RequestValidationError  # noqa: PLC0415

    for kind, handler in PROBLEMS.items():
        app.add_exception_handler(kind, handler)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)


async def _on_problem(_: Request, error: Exception) -> Response:
    raised = cast("ProblemError", error)
    return problem(raised.status, raised.detail, fields=raised.fields, headers=raised.headers)


async def _on_http_exception(_: Request, error: Exception) -> Response:
    raised = cast("HTTPException", error)
    status, detail = raised.status_code, raised.detail
    # Starlette's default says no more than the title: Python's own name of the status.
    says_nothing = detail == {each.value: each.phrase for each in HTTPStatus}.get(status)
    return problem(status, None if says_nothing else detail, headers=raised.headers)


async def _on_crash(_: Request, __: Exception) -> Response:
    # The server logs the traceback; the caller learns nothing about the inside.
    return problem(500)


PROBLEMS: Mapping[type[Exception], Handler] = MappingProxyType(
    {ProblemError: _on_problem, HTTPException: _on_http_exception, Exception: _on_crash}
)
"""How an application answers what its handlers raise."""


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
