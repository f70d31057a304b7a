"""Who is called, under which policies, and when."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from examples.resilience_demo.servers import CRYPTO, WEATHER
from resilience import BreakerSettings, Policies, RateLimit, RetrySettings, Source

MAX_RETRIES = {CRYPTO: 4, WEATHER: 2}
FAILURES_TO_OPEN = 5  # in a row

_ROUNDS = 5
_ROUND_EVERY_S, _FIRST_ROUND_S = 1.8, 0.9
_PRICES_A_ROUND, _PRICE_EVERY_S = 10, 0.04
_FORECASTS, _FORECAST_EVERY_S = 50, 0.18


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A GET of `path` at `source`, `at_s` seconds after the beginning."""

    at_s: float
    source: str
    path: str


def plan() -> list[PlannedRequest]:
    """Return 100 requests over 9 s, half of them to each source, in the order of time.

    Forecasts come evenly, a little faster than the limit of their source allows. Prices come in
    rounds of ten, which the client's own limit lets through and the exchange does not, so that it
    answers 429 in every run.
    """
    forecasts = [
        PlannedRequest(at_s=number * _FORECAST_EVERY_S, source=WEATHER, path=f"/days/{number}")
        for number in range(_FORECASTS)
    ]
    prices = [
        PlannedRequest(
            at_s=_FIRST_ROUND_S + number * _ROUND_EVERY_S + pair * _PRICE_EVERY_S,
            source=CRYPTO,
            path=f"/prices/{pair}",
        )
        for number in range(_ROUNDS)
        for pair in range(_PRICES_A_ROUND)
    ]
    return sorted(forecasts + prices, key=lambda request: request.at_s)


def repeated_plan() -> Iterator[PlannedRequest]:
    """Yield the plan's requests, and again after the last, 9 s later each time, without end."""
    for number in count():
        for request in plan():
            at_s = request.at_s + number * _FORECASTS * _FORECAST_EVERY_S
            yield replace(request, at_s=at_s)


def sources(*, crypto_url: str, weather_url: str) -> tuple[Source, Source]:
    """Return the two sources: one limited too loosely by its client, one strictly."""
    breaker = BreakerSettings(
        failure_ratio=None, consecutive_failures=FAILURES_TO_OPEN, break_s=1.5
    )
    crypto = Policies(
        total_timeout_s=20,
        retry=RetrySettings(max_retries=MAX_RETRIES[CRYPTO], base_delay_s=0.2),
        rate_limit=RateLimit.per_second(20, burst=10),
        breaker=breaker,
        attempt_timeout_s=2,
    )
    weather = Policies(
        total_timeout_s=20,
        retry=RetrySettings(max_retries=MAX_RETRIES[WEATHER], base_delay_s=0.1),
        rate_limit=RateLimit.per_second(5, burst=2),
        breaker=breaker,
        attempt_timeout_s=2,
    )
    return (
        Source(name=CRYPTO, base_url=crypto_url, policies=crypto),
        Source(name=WEATHER, base_url=weather_url, policies=weather),
    )
