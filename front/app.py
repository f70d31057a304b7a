"""The converter as an ASGI application."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import stamina.instrumentation
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from front.converter import Converter, mark
from front.last_good import LastGoodRates
from front.question import read_question
from front.rate import LARGEST_BODY_BYTES
from front.rates import Rates
from front.settings import RATES, FrontSettings
from front.stats import COUNTED, Stats
from resilience import CircuitClosed, CircuitHalfOpened, CircuitOpened, Event, ResilientClient
from service_defaults import health_routes, install_problems

_JSON = "application/json"
_TRANSITIONS = {
    CircuitOpened: "breaker.opened",
    CircuitHalfOpened: "breaker.half_opened",
    CircuitClosed: "breaker.closed",
}


def create_app(settings: FrontSettings) -> Starlette:
    """Return the application: `/convert`, `/stats` and health."""
    client = ResilientClient(
        settings.sources(), random=random.Random(), max_response_bytes=LARGEST_BODY_BYTES
    )
    last_good = LastGoodRates(settings.redis_url)
    rates, stats = Rates(client), Stats()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # One line for each retry would be hundreds a second under load.
        stamina.instrumentation.set_on_retry_hooks([])
        client.subscribe(stats.on_event, COUNTED)
        client.subscribe(_log_transition, _TRANSITIONS)
        async with client, last_good.writing():
            yield

    routes = [
        *_routes(Converter(rates, last_good, stats), stats, client),
        *health_routes({"redis": last_good.check, "rates": rates.check}),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    install_problems(app)
    return app


def _routes(converter: Converter, stats: Stats, client: ResilientClient) -> list[Route]:
    async def convert(request: Request) -> Response:
        answer = await converter.answer(read_question(request.query_params))
        return Response(answer.as_json(), headers=mark(answer.fault), media_type=_JSON)

    async def tell(_: Request) -> Response:
        breaker = client.breaker(RATES)
        return Response(
            orjson.dumps(stats.as_wire(breaker.state if breaker else None)), media_type=_JSON
        )

    return [Route("/convert", convert), Route("/stats", tell)]


def _log_transition(event: Event) -> None:
    name = _TRANSITIONS.get(type(event))
    if name is not None:
        structlog.get_logger().warning(name, source=event.source)
