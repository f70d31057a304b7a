"""A service that makes one call to rates for each request, through the variant that it names."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any

import httpx
import stamina.instrumentation
from fastapi import FastAPI, Query

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.variants import VARIANTS, Variant
from service_defaults.health import health_router
from service_defaults.problems import ProblemError, install_problems, problem_responses
from service_defaults.settings import ServiceSettings

PATH = "/rates/USD"
_OK = 200


class BakeoffSettings(ServiceSettings):
    """Each field is the environment variable of the same name."""

    rates_url: str = "http://127.0.0.1:5401"


class _CountedTransport(httpx.AsyncBaseTransport):
    """Counts what goes over the wire: attempts, not calls."""

    def __init__(self, inner: httpx.AsyncBaseTransport, count: Callable[[], object]) -> None:
        self._inner = inner
        self._count = count

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._count()
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Entrant:
    """A variant with its one long-lived client."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.attempts = 0
        self.wire = Wire(around=lambda inner: _CountedTransport(inner, self._on_attempt))
        self.call: Call

    def _on_attempt(self) -> None:
        self.attempts += 1

    async def outcome(self) -> dict[str, str | int]:
        """Make the call and tell what became of it; the limits of its budget are part of that."""
        try:
            status = await self.call(PATH)
        except Exception as error:  # noqa: BLE001 - whatever a library ends a call with
            rejection = self.variant.rejection
            rejected = rejection is not None and isinstance(error, rejection)
            return {
                "outcome": "rejected" if rejected else "failed",
                "error": f"{type(error).__name__}: {error}",
            }
        return {"outcome": "ok" if status == _OK else "failed", "status": status}


def create_app(settings: BakeoffSettings) -> FastAPI:
    """Return the application: `/call?with=NAME`, `/stats` and health."""
    entrants = {name: _Entrant(variant) for name, variant in VARIANTS.items()}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # One line for each retry would be hundreds a second under load.
        stamina.instrumentation.set_on_retry_hooks([])
        async with AsyncExitStack() as clients:
            for entrant in entrants.values():
                entrant.call = await clients.enter_async_context(
                    entrant.variant.caller(Budget(), settings.rates_url, entrant.wire)
                )
            yield

    app = FastAPI(title="Bake-off of client policies", lifespan=lifespan)
    install_problems(app)
    app.include_router(health_router({}))
    _add_routes(app, entrants)
    return app


def _add_routes(app: FastAPI, entrants: dict[str, _Entrant]) -> None:
    @app.get("/call", responses=problem_responses(422))
    async def call(variant: Annotated[str, Query(alias="with")]) -> dict[str, Any]:
        if variant not in entrants:
            raise ProblemError(422, f"with must be one of {', '.join(entrants)}, got {variant!r}")
        return await entrants[variant].outcome()

    @app.get("/stats")
    async def tell() -> dict[str, Any]:
        by_name = {name: entrant.attempts for name, entrant in entrants.items()}
        return {"attempts": sum(by_name.values()), "attemptsBy": by_name}
