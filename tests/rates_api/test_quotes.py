import random
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rates_api.quotes import BASE_RATES, Rate, UnknownCurrencyError, quote

NOW = datetime(2026, 11, 29, 20, 0, 0, 123_999, tzinfo=UTC)


@given(st.sampled_from(["USD", "eur", "pLn"]), st.integers())
def test_a_rate_is_its_base_plus_or_minus_5_hundredths_in_4_decimals(code: str, seed: int) -> None:
    rate = quote(code, random.Random(seed), NOW)

    assert rate.code == code.upper()
    assert abs(rate.value - BASE_RATES[rate.code]) <= Decimal("0.05")
    assert rate.value == round(rate.value, 4)


def test_the_jitter_reaches_both_ends_and_repeats_with_its_seed() -> None:
    def values(seed: int) -> list[Decimal]:
        rng = random.Random(seed)
        return [quote("USD", rng, NOW).value for _ in range(20_000)]

    assert (min(values(1)), max(values(1))) == (Decimal("41.15"), Decimal("41.25"))
    assert values(1) == values(1) != values(2)


@pytest.mark.parametrize("code", ["XXX", "", "USDT", "u\u017fd", "\U0001f4b6"])
def test_an_unknown_currency_is_named(code: str) -> None:
    with pytest.raises(UnknownCurrencyError, match="USD, EUR, PLN"):
        quote(code, random.Random(), NOW)


def test_on_the_wire_the_value_is_a_number_and_the_moment_utc_with_milliseconds() -> None:
    moment = NOW.astimezone(timezone(timedelta(hours=2)))
    rate = quote("USD", random.Random(1), moment)
    wire = Rate(code="USD", value=Decimal("41.2031"), at=rate.at).model_dump_json()

    assert wire == '{"code":"USD","value":41.2031,"at":"2026-11-29T20:00:00.123Z"}'


@given(st.integers(0, 10**9))
def test_four_decimals_survive_the_wire(units: int) -> None:
    value = Decimal(units) / 10_000
    wire = Rate(code="USD", value=value, at=NOW).model_dump_json()

    assert Decimal(str(orjson.loads(wire)["value"])) == value
