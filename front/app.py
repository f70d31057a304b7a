"""The converter as an ASGI application."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import stamina.instrumentation
import structlog
from fastapi import Depends, FastAPI
from fastapi.responses import Response

from front.convert_request import ConvertRequest, convert_request
from front.converter import Conversion, Converter, mark
from front.rate import LARGEST_BODY_BYTES
from front.rate_cache import RateCache
from front.rates import Rates
from front.settings import RATES, FrontSettings
from front.stats import COUNTED, Stats
from resilience import CircuitClosed, CircuitHalfOpened, CircuitOpened, Event, ResilientClient
from service_defaults.health import health_router
from service_defaults.problems import install_problems, problem_responses

_TRANSITIONS = {
    CircuitOpened: "breaker.opened",
    CircuitHalfOpened: "breaker.half_opened",
    CircuitClosed: "breaker.closed",
}


def create_app(settings: FrontSettings) -> FastAPI:
    """Return the application: `/convert`, `/stats`, health and `/docs`."""
    client = ResilientClient(
        settings.sources(), random=random.Random(), max_response_bytes=LARGEST_BODY_BYTES
    )
    cache = RateCache(settings.redis_url, timeout_s=settings.redis_timeout_s)
    rates, stats = Rates(client), Stats()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # One line for each retry would be hundreds per second under load.
        stamina.instrumentation.set_on_retry_hooks([])
        client.subscribe(stats.on_event, COUNTED)
        client.subscribe(_log_transition, _TRANSITIONS)
        async with client, cache.writing():
            yield

    app = FastAPI(
        title="Currency converter",
        lifespan=lifespan,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    install_problems(app)
    _add_routes(app, Converter(rates, cache, stats), stats, client)
    # Last: routes are tried in this order.
    app.include_router(health_router({"redis": cache.check, "rates": rates.check}))
    return app


def _add_routes(app: FastAPI, converter: Converter, stats: Stats, client: ResilientClient) -> None:
    @app.get(
        "/convert",
        response_model=Conversion,
        responses=problem_responses(404, 422, 503),
    )
    async def convert(asked: Annotated[ConvertRequest, Depends(convert_request)]) -> Response:
        """Convert an amount by the current rate, or by the last good rate."""
        answer = await converter.answer(asked)
        # Not as the model: it would print the amounts as text or as floats, which round.
        return Response(answer.as_json(), headers=mark(answer.fault), media_type="application/json")

    @app.get("/stats")
    async def counts() -> dict[str, Any]:
        """Return the counts since the start."""
        breaker = client.breaker(RATES)
        return stats.as_wire(breaker.state if breaker else None)


def _log_transition(event: Event) -> None:
    name = _TRANSITIONS.get(type(event))
    if name is not None:
        structlog.get_logger().warning(name, source=event.source)
