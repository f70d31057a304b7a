"""A service of several processes behind one port: `uvicorn tests.lab.shared_port:app`."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from chaos import ChaosMiddleware


def _rate(_: Request) -> JSONResponse:
    return JSONResponse({"code": "USD"})


app = Starlette(routes=[Route("/rates/USD", _rate), Route("/health", _rate)])
app.add_middleware(ChaosMiddleware, enabled=True)
