"""One question to rates, and everything that can become of it.

The reply to the last attempt may say in `X-Chaos` which faults, made on purpose, have touched it;
that goes with whatever became of the question, so that the converter can pass it on. An attempt
that no reply came to, or that an open circuit refused, has nothing to say of faults.
"""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

import httpx
import structlog

from front.rate import BadRateError, Rate, read_rate
from front.settings import HEALTH, RATES, RAW
from resilience import ResilienceError, ResilientClient

_log = structlog.get_logger()


LONGEST_FAULT = 200
_MARK = "x-chaos"


class UnknownCurrencyError(LookupError):
    """Rates answered that it has no such currency; `fault` is what touched that reply."""

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


class RatesFailedError(Exception):
    """No good rate came; the message says why, `fault` what touched the last reply if one came."""

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


class Told(NamedTuple):
    """A rate, and the faults that touched the reply it came in; empty if none did."""

    rate: Rate
    fault: str


class Rates:
    """The rates service, as called through *client*."""

    def __init__(self, client: ResilientClient) -> None:
        self._client = client

    async def rate(self, code: str, *, raw: bool) -> Told:
        """Return the rate of *code*, asked for plainly if *raw* and through the policies if not.

        Raises:
            UnknownCurrencyError: rates answered 404.
            RatesFailedError: anything else that is no good rate.
        """
        response = await self._ask(f"/rates/{code}", source=RAW if raw else RATES)
        fault = _fault_of(response)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise UnknownCurrencyError(f"rates knows no currency {code!r}", fault=fault)
        if response.status_code != HTTPStatus.OK:
            raise RatesFailedError(f"rates answered {response.status_code}", fault=fault)
        try:
            return Told(read_rate(response.content, code, datetime.now(UTC)), fault)
        except BadRateError as error:
            raise RatesFailedError(f"rates sent no rate: {error}", fault=fault) from error

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


def _fault_of(response: httpx.Response) -> str:
    """Return what the reply says in `X-Chaos`, if that can be said again in a header of ours."""
    fault = response.headers.get(_MARK, "")
    is_fit = fault.isascii() and fault.isprintable() and len(fault) <= LONGEST_FAULT
    return fault if is_fit else ""
