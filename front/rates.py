"""One question to rates, and everything that can become of it."""

from datetime import UTC, datetime
from http import HTTPStatus

import httpx
import structlog

from front.rate import BadRateError, Rate, read_rate
from front.settings import HEALTH, RATES, RAW
from resilience import ResilienceError, ResilientClient

_log = structlog.get_logger()


class UnknownCurrencyError(LookupError):
    """Rates answered that it has no such currency."""


class RatesFailedError(Exception):
    """No good rate came; the message says why."""


class Rates:
    """The rates service, as called through *client*."""

    def __init__(self, client: ResilientClient) -> None:
        self._client = client

    async def rate(self, code: str, *, raw: bool) -> Rate:
        """Return the rate of *code*, asked for plainly if *raw* and through the policies if not.

        Raises:
            UnknownCurrencyError: rates answered 404.
            RatesFailedError: anything else that is no good rate.
        """
        response = await self._ask(f"/rates/{code}", source=RAW if raw else RATES)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise UnknownCurrencyError(f"rates knows no currency {code!r}")
        if response.status_code != HTTPStatus.OK:
            raise RatesFailedError(f"rates answered {response.status_code}")
        try:
            return read_rate(response.content, code, datetime.now(UTC))
        except BadRateError as error:
            raise RatesFailedError(f"rates sent no rate: {error}") from error

    async def check(self) -> None:
        """Raise RatesFailedError unless rates says that it is alive."""
        response = await self._ask("/alive", source=HEALTH)
        if response.status_code != HTTPStatus.OK:
            raise RatesFailedError(f"rates answered {response.status_code}")

    async def _ask(self, path: str, *, source: str) -> httpx.Response:
        try:
            return await self._client.get(source, path)
        except (ResilienceError, httpx.HTTPError) as error:
            raise RatesFailedError(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            # Nothing that rates sends may end in a 500 here, but this is worth a look.
            _log.exception("rates.misunderstood", path=path)
            raise RatesFailedError(f"{type(error).__name__}: {error}") from error
