"""Fresh if rates answers, else stale, else a problem."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Literal

import orjson
from pydantic import BaseModel, Field

from front.convert_request import ConvertRequest
from front.rate import Rate
from front.rate_cache import NothingKeptError, RateCache
from front.rates import Rates, RatesFailedError, UnknownCurrencyError
from front.stats import Stats
from service_defaults.problems import ProblemError

_CENT = Decimal("0.01")
# Room for every digit of the longest amount times those of a rate: only the last step rounds.
_ARITHMETIC = Context(prec=80, rounding=ROUND_HALF_EVEN)


class Conversion(BaseModel):
    """The reply of /convert, as its documentation describes it."""

    result: float = Field(description="two decimals; every digit is in the reply")
    rate: float = Field(description="what one unit costs")
    source: Literal["fresh", "stale"]
    age_s: int = Field(alias="ageSec", ge=0, description="seconds; 0 if fresh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A converted amount, the rate that was used, and the age of that rate."""

    result: Decimal  # two decimals
    rate: Decimal
    source: Literal["fresh", "stale"]
    age_s: int  # >= 0; 0 if fresh
    fault: str = ""  # the faults named by the last reply of rates

    def as_json(self) -> bytes:
        """Return the reply; both amounts are JSON numbers with every decimal."""
        return orjson.dumps(
            {
                "result": orjson.Fragment(f"{self.result:f}"),
                "rate": orjson.Fragment(f"{self.rate:f}"),
                "source": self.source,
                "ageSec": self.age_s,
            }
        )


class Converter:
    """Answers requests by *rates*, or by the rate that *cache* recalls."""

    def __init__(self, rates: Rates, cache: RateCache, stats: Stats) -> None:
        self._rates = rates
        self._cache = cache
        self._stats = stats

    async def answer(self, asked: ConvertRequest) -> Answer:
        """Return the answer to *asked*.

        Raises:
            ProblemError: 404, rates has no such currency; 503, no rate at all, with both reasons.
        """
        try:
            rate, fault = await self._rates.rate(asked.code, raw=asked.raw)
        except UnknownCurrencyError as error:
            self._stats.unknown += 1
            raise ProblemError(404, str(error), headers=mark(error.fault)) from error
        except RatesFailedError as failure:
            return await self._fall_back(asked, failure)
        self._cache.keep(rate)
        self._stats.fresh += 1
        return Answer(
            result=convert(asked.amount, rate.value),
            rate=rate.value,
            source="fresh",
            age_s=0,
            fault=fault,
        )

    async def _fall_back(self, asked: ConvertRequest, failure: RatesFailedError) -> Answer:
        try:
            rate = await self._cache.recall(asked.code)
        except NothingKeptError as error:
            self._stats.errors += 1
            detail = f"no rate of {asked.code}: {failure}; {error}"
            raise ProblemError(503, detail, headers=mark(failure.fault)) from error
        self._stats.stale += 1
        return Answer(
            result=convert(asked.amount, rate.value),
            rate=rate.value,
            source="stale",
            age_s=age_s(rate, datetime.now(UTC)),
            fault=failure.fault,
        )


def mark(fault: str) -> dict[str, str] | None:
    """Return the header that names the faults of the last reply of rates; None without any."""
    return {"X-Chaos": fault} if fault else None


def convert(amount: Decimal, value: Decimal) -> Decimal:
    """Return *amount* times *value* in two decimals, rounded half to even."""
    return _ARITHMETIC.multiply(amount, value).quantize(_CENT, context=_ARITHMETIC)


def age_s(rate: Rate, now: datetime) -> int:
    """Return the age of *rate* in whole seconds, rounded, never negative."""
    return max(0, round((now - rate.at).total_seconds()))
