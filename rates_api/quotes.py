"""Rates: a base rate for each currency, and a little noise."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

BASE_RATES: Mapping[str, Decimal] = MappingProxyType(
    {"USD": Decimal("41.2"), "EUR": Decimal("47.9"), "PLN": Decimal("11.2")}
)
_STEP = Decimal("0.0001")
_LARGEST_NOISE_STEPS = 500  # 0.05


class UnknownCurrencyError(LookupError):
    """No rate is kept for this code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one unit of the currency *code* costs, in four decimals, at a moment in UTC."""

    code: str  # upper case
    value: Decimal
    at: datetime


def quote(code: str, noise: random.Random, now: datetime) -> Rate:
    """Return the rate of *code* (in any case): its base rate ±0.05, uniform in steps of 0.0001.

    Raises:
        UnknownCurrencyError: there is no such currency here.
    """
    known = code.upper() if code.isascii() else code
    base = BASE_RATES.get(known)
    if base is None:
        raise UnknownCurrencyError(f"no rate for {code!r}; there are {', '.join(BASE_RATES)}")
    steps = noise.randint(-_LARGEST_NOISE_STEPS, _LARGEST_NOISE_STEPS)
    return Rate(code=known, value=base + steps * _STEP, at=now.astimezone(UTC))


def as_wire(rate: Rate) -> dict[str, str | float]:
    """Return the members of the JSON reply; a float prints four decimals exactly as they are."""
    moment = rate.at.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return {"code": rate.code, "value": float(rate.value), "at": f"{moment}Z"}
