"""The rates service as an ASGI application, and its settings."""

import random
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from pydantic import Field, SecretStr

from chaos import ChaosMiddleware, Outcomes, OutcomesMiddleware
from rates_api.quotes import Rate, UnknownCurrencyError, quote
from service_defaults.health import health_router
from service_defaults.problems import ProblemError, install_problems, problem_responses
from service_defaults.settings import ServiceSettings


class RatesSettings(ServiceSettings):
    """Each field is the environment variable of the same name."""

    chaos_enabled: bool = False  # whether /chaos exists at all
    chaos_token: SecretStr | None = None  # unset: /chaos answers loopback addresses only
    rates_seed: int | None = Field(None, ge=0)  # of the rates' jitter; unset: different each time


def create_app(settings: RatesSettings) -> FastAPI:
    """Return the application: `/rates/{code}`, `/stats`, health, `/docs`; `/chaos` if enabled."""
    outcomes = Outcomes()
    app = FastAPI(title="Currency rates", redoc_url=None, swagger_ui_oauth2_redirect_url=None)
    install_problems(app)
    _add_routes(app, random.Random(settings.rates_seed), outcomes)
    app.include_router(health_router({}))  # last: routes are tried in this order
    token = settings.chaos_token
    app.add_middleware(
        ChaosMiddleware,
        enabled=settings.chaos_enabled,
        token=token.get_secret_value() if token else None,
    )
    app.add_middleware(OutcomesMiddleware, outcomes=outcomes, prefix="/rates/")
    return app


def _add_routes(app: FastAPI, rng: random.Random, outcomes: Outcomes) -> None:
    @app.get("/rates/{code}", responses=problem_responses(404))
    async def rate(code: str) -> Rate:
        """Return the price of one unit of a currency now; *code* in any case."""
        try:
            return quote(code, rng, datetime.now(UTC))
        except UnknownCurrencyError as error:
            raise ProblemError(404, str(error)) from error

    @app.get("/stats")
    async def stats() -> dict[str, Any]:
        """Return the counts of the replies of `/rates/` since the start."""
        return outcomes.as_wire()
