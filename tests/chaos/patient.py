"""A small service with nothing but faults of its own: `python -m tests.chaos.patient --port N`."""

import argparse
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from chaos import ChaosMiddleware, Outcomes, OutcomesMiddleware

PULSE = b'{"n":72}'
STREAM = (b"abcd", b"ef")


def create_app() -> Starlette:
    """Return the application: replies with a length, without one, and without a body."""
    outcomes = Outcomes()

    async def pulse(_: Request) -> Response:
        return Response(PULSE, media_type="application/json")

    async def stream(_: Request) -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            for chunk in STREAM:
                yield chunk

        return StreamingResponse(chunks(), media_type="text/plain")

    async def silent(_: Request) -> Response:
        return Response(status_code=204)

    async def echo(request: Request) -> Response:
        return PlainTextResponse(await request.body())

    async def stats(_: Request) -> Response:
        return JSONResponse(outcomes.as_wire())

    app = Starlette(
        routes=[
            Route("/alive", silent),
            Route("/pulse", pulse, methods=["GET", "POST"]),
            Route("/stream", stream),
            Route("/silent", silent),
            Route("/echo", echo, methods=["POST"]),
            Route("/stats", stats),
        ]
    )
    app.add_middleware(ChaosMiddleware, enabled=True)
    app.add_middleware(OutcomesMiddleware, outcomes=outcomes, prefix="/")
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    uvicorn.run(
        create_app(), port=parser.parse_args().port, log_level="warning", ws="none", loop="uvloop"
    )
