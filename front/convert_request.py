"""The request of a caller of /convert, validated."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from fastapi import Query, Request
from pydantic import BeforeValidator

from service_defaults.problems import ProblemError

FIELDS = ("from", "amount", "raw")
LARGEST_AMOUNT = Decimal(10**12)
LONGEST_AMOUNT = 40  # characters; keeps the arithmetic exact and its cost bounded
_CODE = re.compile(r"[A-Za-z]{3}")
_AMOUNT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_RAW = {"true": True, "1": True, "false": False, "0": False}


def _code(text: str) -> str:
    if _CODE.fullmatch(text) is None:
        raise ValueError(f"must be three letters, got {text[:40]!r}")
    return text.upper()


def _amount(text: str) -> Decimal:
    if len(text) > LONGEST_AMOUNT:
        raise ValueError(f"must have at most {LONGEST_AMOUNT} characters, got {len(text)}")
    if _AMOUNT.fullmatch(text) is None:
        raise ValueError(f"must be a decimal number such as 100 or 99.95, got {text!r}")
    if not 0 <= Decimal(text) <= LARGEST_AMOUNT:
        raise ValueError(f"must be in 0..{LARGEST_AMOUNT}, got {text}")
    return abs(Decimal(text))  # -0 is 0


def _raw(text: str) -> bool:
    if text.lower() not in _RAW:
        raise ValueError(f"must be true or false, got {text[:40]!r}")
    return _RAW[text.lower()]


Code = Annotated[
    str,
    BeforeValidator(_code),
    Query(alias="from", description="currency: three letters, any case", examples=["USD"]),
]
Amount = Annotated[
    Decimal,
    BeforeValidator(_amount),
    Query(description=f"0 to {LARGEST_AMOUNT}", examples=["100"]),
]
Raw = Annotated[
    bool, BeforeValidator(_raw), Query(description="one plain call to rates, without policies")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertRequest:
    """An *amount* of the currency *code* to convert."""

    code: str  # three letters, upper case
    amount: Decimal  # 0..LARGEST_AMOUNT
    raw: bool = False


# Separate parameters, because FastAPI reads one model of them at half the speed.
async def convert_request(
    request: Request, code: Code, amount: Amount, raw: Raw = False
) -> ConvertRequest:
    """Return the request in the query of *request*; other fields are ignored.

    Raises:
        ProblemError: 422 that names each field that is given more than once.
    """
    query = request.query_params
    if len(query.multi_items()) > len(query):
        repeated = {name: "given more than once" for name in FIELDS if len(query.getlist(name)) > 1}
        if repeated:
            raise ProblemError(422, f"invalid: {', '.join(repeated)}", fields=repeated)
    return ConvertRequest(code=code, amount=amount, raw=raw)
