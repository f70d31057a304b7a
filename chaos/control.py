"""The /chaos routes: ask for a fault, renew it, look at it, take it off."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chaos.access import refusal
from chaos.document import ChaosDocument, read_document, read_renewal
from chaos.injector import Injector
from chaos.problems import problem
from chaos.request_body import InvalidDocumentError, read_body

_OFF = ChaosDocument()
_Action = Callable[[Request], Awaitable[Response]]


class Control:
    """Answers the requests to /chaos.

    GET     what is on: the document with its seed, `on`, `active` (on, and not in the idle turn of
            its flapping), `leftS` of the lease; since it was put on, how many requests it concerned
            (`arrived`) and did something to (`touched`), and how often what (`hits`); `instance`,
            which is another one in each process, and how many faults it has had (`applied`)
    POST    put a fault on, in place of the one before
    PATCH   `ttlS`: a longer lease and nothing else; 409 if nothing is on
    DELETE  take it off
    """

    def __init__(self, injector: Injector, token: str | None) -> None:
        self._injector = injector
        self._token = token
        self._actions: dict[str, _Action] = {
            "GET": self._show,
            "POST": self._put_on,
            "PATCH": self._renew,
            "DELETE": self._take_off,
        }

    async def answer(self, request: Request) -> Response:
        """Return the reply to *request*, whatever is wrong with it."""
        action = self._actions.get(request.method)
        if action is None:
            allow = ", ".join(self._actions)
            return problem(405, f"use one of {allow}", headers={"Allow": allow})
        why = refusal(request, self._token)
        if why is not None:
            return problem(403 if self._token is None else 401, why, headers=self._challenge())
        try:
            return await action(request)
        except InvalidDocumentError as error:
            return problem(422, f"nothing changed: {error}", fields=error.fields)
        except HTTPException as error:
            return problem(error.status_code, error.detail)

    def _challenge(self) -> dict[str, str] | None:
        return None if self._token is None else {"WWW-Authenticate": "Bearer"}

    async def _put_on(self, request: Request) -> Response:
        self._injector.put_on(
            read_document(request.scope["query_string"], await read_body(request))
        )
        return self._state()

    async def _renew(self, request: Request) -> Response:
        query, body = request.scope["query_string"], await read_body(request)
        renewal = read_renewal(query, body)
        if not self._injector.renew(renewal.ttl_s):
            return problem(409, "no fault is on, so there is no lease to renew; POST one")
        return self._state()

    async def _take_off(self, _: Request) -> Response:
        self._injector.take_off()
        return self._state()

    async def _show(self, _: Request) -> Response:
        return self._state()

    def _state(self) -> Response:
        fault = self._injector.current()
        return JSONResponse(
            {
                "on": fault is not None,
                "active": self._injector.is_active(),
                **(fault.document if fault else _OFF).model_dump(by_alias=True),
                "leftS": self._injector.seconds_left(),
                "arrived": fault.arrived if fault else 0,
                "touched": fault.touched if fault else 0,
                "hits": dict(fault.hits) if fault else {},
                "instance": self._injector.instance,
                "applied": self._injector.applied,
            }
        )
