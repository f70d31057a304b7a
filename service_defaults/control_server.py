"""A control over HTTP, as `fault_proxy` and `lab up` have one: what it reads, how it refuses.

Its listener and its server are in `service_defaults.server`. What `/chaos` of a service has to obey
as well is in `chaos`, which is useful alone: who may call (`chaos.access`) and what a body may be
(`chaos.request_body`).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chaos.problems import problem
from chaos.request_body import InvalidDocumentError
from service_defaults.problems import PROBLEMS, Handler

_NO_HANDLERS: Mapping[type[Exception], Handler] = MappingProxyType({})


def control_app(
    routes: Sequence[Route], *, handlers: Mapping[type[Exception], Handler] = _NO_HANDLERS
) -> Starlette:
    """Return the application of a control; every error that it answers is a problem (RFC 9457).

    Args:
        routes: what can be asked; each may raise `HTTPException` and `InvalidDocumentError` (422).
        handlers: what answers exceptions of its own.
    """
    own = {InvalidDocumentError: _on_invalid_document}
    return Starlette(routes=routes, exception_handlers={**PROBLEMS, **own, **handlers})


async def _on_invalid_document(_: Request, error: Exception) -> Response:
    fields = error.fields if isinstance(error, InvalidDocumentError) else {}
    return problem(422, f"nothing changed: {error}", fields=fields)
