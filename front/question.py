"""What a caller of /convert asks."""

import re
from dataclasses import dataclass
from decimal import Decimal

from starlette.datastructures import QueryParams

from service_defaults import ProblemError

LARGEST_AMOUNT = Decimal(10**12)
LONGEST_AMOUNT = 40  # characters; keeps the arithmetic exact and its cost bounded
_CODE = re.compile(r"[A-Za-z]{3}")
_AMOUNT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_RAW = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How much is *amount* of the currency *code*?"""

    code: str  # three letters, upper case
    amount: Decimal  # 0..LARGEST_AMOUNT
    raw: bool = False  # one plain call to rates, without policies


def read_question(query: QueryParams) -> Question:
    """Return what *query* asks: `from`, `amount`, and perhaps `raw`.

    Raises:
        ProblemError: 422 that names each wrong field; a field given twice is wrong.
    """
    code, amount, raw = query.get("from", ""), query.get("amount", ""), query.get("raw", "false")
    wrong = {
        "from": _CODE.fullmatch(code) is None and f"must be three letters, got {code[:40]!r}",
        "amount": _complaint_about(amount),
        "raw": raw.lower() not in _RAW and f"must be true or false, got {raw[:40]!r}",
    }
    if len(query.multi_items()) > len(query):
        wrong |= {name: "given more than once" for name in wrong if len(query.getlist(name)) > 1}
    fields = {name: complaint for name, complaint in wrong.items() if complaint}
    if fields:
        raise ProblemError(422, f"cannot convert: check {', '.join(fields)}", fields=fields)
    return Question(
        code=code.upper(), amount=abs(Decimal(amount)), raw=_RAW[raw.lower()]
    )  # -0 is 0


def _complaint_about(amount: str) -> str | None:
    if len(amount) > LONGEST_AMOUNT:
        return f"must have at most {LONGEST_AMOUNT} characters, got {len(amount)}"
    if _AMOUNT.fullmatch(amount) is None:
        return f"must be a decimal number such as 100 or 99.95, got {amount!r}"
    if not 0 <= Decimal(amount) <= LARGEST_AMOUNT:
        return f"must be in 0..{LARGEST_AMOUNT}, got {amount}"
    return None
