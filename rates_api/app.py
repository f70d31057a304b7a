"""The rates service as an ASGI application."""

import random
from datetime import UTC, datetime

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chaos import ChaosMiddleware, Outcomes, OutcomesMiddleware
from rates_api.quotes import UnknownCurrencyError, as_wire, quote
from rates_api.settings import RatesSettings
from service_defaults import ProblemError, health_routes, install_problems

_JSON = "application/json"


def create_app(settings: RatesSettings) -> Starlette:
    """Return the application: `/rates/{code}`, `/stats`, health, and `/chaos` where enabled."""
    outcomes = Outcomes()
    app = Starlette(routes=_routes(random.Random(settings.rates_seed), outcomes))
    install_problems(app)
    token = settings.chaos_token
    app.add_middleware(
        ChaosMiddleware,
        enabled=settings.chaos_enabled,
        token=token.get_secret_value() if token else None,
    )
    app.add_middleware(OutcomesMiddleware, outcomes=outcomes, prefix="/rates/")
    return app


def _routes(noise: random.Random, outcomes: Outcomes) -> list[Route]:
    async def rate(request: Request) -> Response:
        try:
            found = quote(request.path_params["code"], noise, datetime.now(UTC))
        except UnknownCurrencyError as error:
            raise ProblemError(404, str(error)) from error
        return Response(orjson.dumps(as_wire(found)), media_type=_JSON)

    async def stats(_: Request) -> Response:
        return Response(orjson.dumps(outcomes.as_wire()), media_type=_JSON)

    return [Route("/rates/{code}", rate), Route("/stats", stats), *health_routes({})]
