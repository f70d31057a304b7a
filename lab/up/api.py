"""The HTTP API of a running lab, JSON over its unix socket.

`GET /status`
    `{"system", "file", "pid", "since", "services": [...], "links": [...], "faults": [...]}`. A
    service is
    `{"name", "state", "url", "ready", "chaos", "pid", "exitCode", "breaker"}`: `state` is one of
    `running`, `paused`, `stopped`, `ended` (by itself) and `not ours`; `ready` and `chaos` are
    whole URLs; `breaker` is the field of that name at the service's `attempts` path. A link,
    with a proxy on it, is `{"link", "url"}`: the address that leads through it. A fault is
    `{"id", "kind", "service", "fields", "since", "until", "leftS", "leaseS", "on", "touched"}`:
    `until` and `leftS` are null where it stays until it is taken off, `leaseS` is how long it would
    outlive a lab that is killed, `on` whether it has its effect (null: cannot be told now),
    `touched` how many requests or connections it did something to (null: nobody counts them). What
    is not available is null; times are ISO 8601 in UTC.
`POST /faults`
    A fault as an experiment file says it, e.g. `{"chaos": "rates", "failure": 0.3, "delay":
    "500ms"}` or `{"pause": "rates"}`; wire names (`"delayMs": 500`) do as well; with `"for":
    "30s"` it ends by itself. Answers 201 with the fault once it is on. A second chaos fault on a
    service takes the place of the first.
`DELETE /faults/{id}`
    Answers 200 with the fault once it has been reverted.
`POST /services/{name}/{verb}`
    `stop`, `start`, `pause`, `resume`, `kill`, `restart`. Answers 200 with the service once that
    is done. A stop, pause or kill is a fault too, listed and taken off like the others.
`GET /services/{name}/logs?from=BYTE`
    `{"text", "next"}`: at most 256 KiB of the log from BYTE on, or of its end without `from`;
    `next` is the `from` of the next request.

Errors are `application/problem+json`; `detail`, if it is more than the `title`, is one line for a
person. 404: no such service, verb or fault; 409: not in its present state; 413: a body over 64 KiB;
422: the document is wrong, nothing changed; 503: the system is coming up or going down, or what was
tried went wrong.
"""

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chaos.problems import problem
from chaos.request_body import read_body, read_object
from lab.errors import LabError, NoValidData, UsageError
from lab.spec.reading import read_ad_hoc_fault
from lab.up.errors import RefusedError
from lab.up.live_system import LiveSystem, fault_status
from loadgen.quantities import QuantityError, duration_s, show
from service_defaults.control_server import control_app


class Api:
    """Answers for a system once it is up: `open` it then, `close` it before taking it down."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._why_not = f"{name} is still coming up; try again"
        self._live: LiveSystem | None = None

    def open(self, live: LiveSystem) -> None:
        """Begin to answer for *live*."""
        self._live = live

    def close(self) -> None:
        """Answer every request with a refusal from now on."""
        self._live, self._why_not = None, f"{self._name} is going down"

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return control_app(
            [
                Route("/status", self._status),
                Route("/faults", self._put_on, methods=["POST"]),
                Route("/faults/{id}", self._take_off, methods=["DELETE"]),
                Route("/services/{name}/logs", self._log),
                Route("/services/{name}/{verb}", self._do, methods=["POST"]),
            ],
            handlers={LabError: _refuse, OSError: _refuse},
        )

    def _system(self) -> LiveSystem:
        if self._live is None:
            raise NoValidData(self._why_not)
        return self._live

    async def _status(self, _: Request) -> Response:
        return JSONResponse(await self._system().status())

    async def _put_on(self, request: Request) -> Response:
        live = self._system()
        document = read_object(await read_body(request))
        for_s = _for_s(document.pop("for", None))
        fault = read_ad_hoc_fault(document, live.running.system)
        on = await live.faults.put_on(fault, for_s=for_s)
        return JSONResponse(await fault_status(on), status_code=HTTPStatus.CREATED)

    async def _take_off(self, request: Request) -> Response:
        off = await self._system().faults.take_off(request.path_params["id"])
        return JSONResponse(await fault_status(off) | {"on": False})

    async def _do(self, request: Request) -> Response:
        path = request.path_params
        return JSONResponse(await self._system().do(path["verb"], path["name"]))

    def _log(self, request: Request) -> Response:
        wanted = request.query_params.get("from")
        if wanted is not None and not wanted.isdecimal():
            raise UsageError(f"from must be a position in bytes, got {show(wanted)}")
        part = self._system().log(
            request.path_params["name"], from_byte=None if wanted is None else int(wanted)
        )
        return JSONResponse({"text": part.text, "next": part.next_byte})


def _for_s(value: object) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(duration_s(str(value)))
    except QuantityError as wrong:
        raise UsageError(f"for {wrong.what}; {wrong.advice or 'write e.g. 30s'}") from None
    if not seconds:
        raise UsageError("for must be more than 0, got 0; write e.g. 30s")
    return seconds


async def _refuse(_: Request, error: Exception) -> Response:
    """Return the problem that *error* is to the caller."""
    match error:
        case RefusedError():
            status = error.status
        case UsageError():
            status = HTTPStatus.UNPROCESSABLE_ENTITY
        case _:
            status = HTTPStatus.SERVICE_UNAVAILABLE
    return problem(status, str(error))
