"""The faults over HTTP.

    GET    /faults        what is on: {"faults": [document with id, seed, leftS, arrived, touched],
                          "applied": number of faults put on since the start}
    POST   /faults        put the fault of the JSON body on: 201 and its document
    GET    /faults/{id}   its document; 404 if it is not on
    PATCH  /faults/{id}   {"ttlS": seconds}: a longer lease and nothing else; 404 if it is not on
    DELETE /faults/{id}   take it off; 404 if it is not on
    DELETE /faults        take all off
    GET    /stats         connections, bytes, requests, and how many of them were hit;
                          `stalledS`: for how long the proxy stood still; `ownFailures`: how many
                          connections it could not open, by what it lacked (files, ports, memory)

A document has a `kind` and the fields of that kind in `fault_proxy.faults.documents`, in camel
case: {"kind": "latency", "delayMs": 200, "probability": 0.5, "ttlS": 5}. Unknown fields and values
out of range: 422, nothing changed. All errors are `application/problem+json` (RFC 9457).
"""

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chaos.request_body import read_body
from fault_proxy.faults.wire import read_fault, read_renewal
from fault_proxy.proxy import Proxy
from service_defaults.control_server import control_app


def proxy_control(proxy: Proxy) -> Starlette:
    """Return the application that controls *proxy*; it runs in the proxy's event loop."""
    control = _Control(proxy)
    return control_app(
        [
            Route("/faults", control.list, methods=["GET"]),
            Route("/faults", control.put_on, methods=["POST"]),
            Route("/faults", control.take_all_off, methods=["DELETE"]),
            Route("/faults/{id}", control.show, methods=["GET"]),
            Route("/faults/{id}", control.renew, methods=["PATCH"]),
            Route("/faults/{id}", control.take_off, methods=["DELETE"]),
            Route("/stats", control.stats, methods=["GET"]),
        ]
    )


class _Control:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def list(self, _: Request) -> Response:
        faults = [self._proxy.tell(each) for each in self._proxy.faults()]
        return JSONResponse({"faults": faults, "applied": self._proxy.applied})

    async def put_on(self, request: Request) -> Response:
        active = self._proxy.apply(read_fault(await read_body(request)))
        return JSONResponse(self._proxy.tell(active), HTTPStatus.CREATED)

    async def show(self, request: Request) -> Response:
        for active in self._proxy.faults():
            if active.id == request.path_params["id"]:
                return JSONResponse(self._proxy.tell(active))
        raise _not_on(request)

    async def renew(self, request: Request) -> Response:
        renewal = read_renewal(await read_body(request))
        active = self._proxy.renew(request.path_params["id"], renewal.ttl_s)
        if active is None:
            raise _not_on(request)
        return JSONResponse(self._proxy.tell(active))

    async def take_off(self, request: Request) -> Response:
        if not self._proxy.end(request.path_params["id"]):
            raise _not_on(request)
        return await self.list(request)

    async def take_all_off(self, request: Request) -> Response:
        self._proxy.end_all()
        return await self.list(request)

    async def stats(self, _: Request) -> Response:
        return JSONResponse(self._proxy.counts().as_wire())


def _not_on(request: Request) -> HTTPException:
    detail = f"fault {request.path_params['id']!r} is not on; GET /faults tells which are"
    return HTTPException(HTTPStatus.NOT_FOUND, detail)
