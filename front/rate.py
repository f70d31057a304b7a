"""A rate, and its strict reading: anything else is refused."""

import reprlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import orjson

LARGEST_BODY_BYTES = 4096
LOWEST, HIGHEST = Decimal("0.0001"), Decimal(1_000_000)
_CLOCKS_MAY_DIFFER_BY = timedelta(minutes=5)


class BadRateError(ValueError):
    """The text is not a rate of the requested currency; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The price of one unit of the currency, and the time of that price."""

    code: str  # three letters, upper case
    value: Decimal  # LOWEST..HIGHEST
    at: datetime  # with its time zone


def read_rate(body: bytes | str, code: str, now: datetime) -> Rate:
    """Return the rate of *code* that the JSON *body* holds; other members are ignored.

    Raises:
        BadRateError: it is not a JSON object, holds another currency, or its value or time is
            missing, of a wrong type or out of range: a time more than five minutes after *now*.
    """
    members = _members(body)
    if members.get("code") != code:
        raise BadRateError(f"the code is {_brief(members.get('code'))}, asked was {code!r}")
    return Rate(code=code, value=_value(members.get("value")), at=_moment(members.get("at"), now))


def write_rate(rate: Rate) -> bytes:
    """Return *rate* as the JSON that `read_rate` reads back."""
    value = orjson.Fragment(f"{rate.value:f}")
    return orjson.dumps({"code": rate.code, "value": value, "at": rate.at})


def _members(body: bytes | str) -> dict[str, object]:
    if len(body) > LARGEST_BODY_BYTES:
        raise BadRateError(
            f"{len(body)} bytes are too many for a rate, at most {LARGEST_BODY_BYTES} are read"
        )
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRateError(f"not JSON: {error}") from error
    if not isinstance(members, dict):
        raise BadRateError(f"a JSON object was expected, got {_brief(members)}")
    return members


def _value(value: object) -> Decimal:
    # A bool is an int to isinstance, but not a rate.
    if type(value) not in (int, float):
        raise BadRateError(f"the value must be a number, got {_brief(value)}")
    exact = Decimal(str(value))
    if not LOWEST <= exact <= HIGHEST:
        raise BadRateError(f"the value must be in {LOWEST}..{HIGHEST}, got {_brief(value)}")
    return exact


def _moment(at: object, now: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadRateError(f"the moment must be ISO 8601 with a time zone, got {_brief(at)}")
    if moment - now > _CLOCKS_MAY_DIFFER_BY:
        raise BadRateError(f"the moment {_brief(at)} is in the future")
    return moment


def _brief(value: object) -> str:
    return reprlib.repr(value)
