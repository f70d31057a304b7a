"""One call to rates, and every way in which it can end.

The reply to the last attempt may name in `X-Chaos` the injected faults that touched it; the result
carries that name, so that the converter can pass it on. An attempt without a reply, or one that an
open circuit refused, names no faults.
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
    """Rates has no such currency; `fault` names what touched its reply."""

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


class RatesFailedError(Exception):
    """No good rate came; the message says why, `fault` names what touched the last reply."""

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


class RateReply(NamedTuple):
    """A rate, and the faults that touched the reply with it; empty if there were none."""

    rate: Rate
    fault: str


class Rates:
    """The rates service, as called through *client*."""

    def __init__(self, client: ResilientClient) -> None:
        self._client = client

    async def rate(self, code: str, *, raw: bool) -> RateReply:
        """Return the rate of *code*, by a plain call if *raw*, else through the policies.

        Raises:
            UnknownCurrencyError: rates answered 404.
            RatesFailedError: anything else that is not a good rate.
        """
        response = await self._get(f"/rates/{code}", source=RAW if raw else RATES)
        fault = _fault_of(response)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise UnknownCurrencyError(f"rates knows no currency {code!r}", fault=fault)
        if response.status_code != HTTPStatus.OK:
            raise RatesFailedError(f"rates answered {response.status_code}", fault=fault)
        try:
            return RateReply(read_rate(response.content, code, datetime.now(UTC)), fault)
        except BadRateError as error:
            raise RatesFailedError(f"rates sent no rate: {error}", fault=fault) from error

    async def check(self) -> None:
        """Raise RatesFailedError unless rates responds 200 to `/alive`."""
        response = await self._get("/alive", source=HEALTH)
        if response.status_code != HTTPStatus.OK:
            raise RatesFailedError(f"rates answered {response.status_code}")

    async def _get(self, path: str, *, source: str) -> httpx.Response:
        try:
            return await self._client.get(source, path)
        except (ResilienceError, httpx.HTTPError) as error:
            raise RatesFailedError(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            # No reply of rates may end in a 500 here, but an unexpected error is logged.
            _log.exception("rates.misunderstood", path=path)
            raise RatesFailedError(f"{type(error).__name__}: {error}") from error


def _fault_of(response: httpx.Response) -> str:
    """Return the reply's `X-Chaos`, if it can be sent in a header of ours; else an empty text."""
    fault = response.headers.get(_MARK, "")
    is_fit = fault.isascii() and fault.isprintable() and len(fault) <= LONGEST_FAULT
    return fault if is_fit else ""
