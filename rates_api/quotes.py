"""Rates: a base rate for each currency, with random jitter."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer

BASE_RATES: Mapping[str, Decimal] = MappingProxyType(
    {"USD": Decimal("41.2"), "EUR": Decimal("47.9"), "PLN": Decimal("11.2")}
)
_STEP = Decimal("0.0001")
_LARGEST_JITTER_STEPS = 500  # 0.05


class UnknownCurrencyError(LookupError):
    """There is no rate for this code."""


def _iso(moment: datetime) -> str:
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z"


class Rate(BaseModel):
    """The price of one unit of the currency *code*, in four decimals, at a time in UTC.

    In JSON the value is a number: a float prints four decimals exactly.
    """

    model_config = ConfigDict(frozen=True)

    code: str  # upper case
    value: Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
    at: Annotated[datetime, PlainSerializer(_iso, return_type=str, when_used="json")]


def quote(code: str, rng: random.Random, now: datetime) -> Rate:
    """Return the rate of *code* (in any case): its base rate ±0.05, uniform in steps of 0.0001.

    Raises:
        UnknownCurrencyError: there is no such currency here.
    """
    known = code.upper() if code.isascii() else code
    base = BASE_RATES.get(known)
    if base is None:
        raise UnknownCurrencyError(f"no rate for {code!r}; there are {', '.join(BASE_RATES)}")
    steps = rng.randint(-_LARGEST_JITTER_STEPS, _LARGEST_JITTER_STEPS)
    return Rate(code=known, value=base + steps * _STEP, at=now.astimezone(UTC))
