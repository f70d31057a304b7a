from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from front.convert_request import LARGEST_AMOUNT, LONGEST_AMOUNT
from front.converter import Answer, age_s, convert
from front.rate import HIGHEST, LOWEST, Rate

NOW = datetime(2026, 11, 29, 20, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("amount", "value", "result"),
    [
        ("100", "41.2031", "4120.31"),
        ("0", "41.2031", "0.00"),
        ("1", "0.125", "0.12"),
        ("1", "0.135", "0.14"),
        ("1e-300", "41.2", "0.00"),
        ("1000000000000", "1000000", "1000000000000000000.00"),
    ],
)
def test_a_result_has_two_decimals_and_a_half_goes_to_the_even_cent(
    amount: str, value: str, result: str
) -> None:
    assert str(convert(Decimal(amount), Decimal(value))) == result


@given(
    st.decimals(0, LARGEST_AMOUNT, places=LONGEST_AMOUNT - 14),
    st.decimals(LOWEST, HIGHEST, places=10),
)
def test_a_result_is_off_by_half_a_cent_at_most(amount: Decimal, value: Decimal) -> None:
    exact = Fraction(amount) * Fraction(value)

    assert abs(Fraction(convert(amount, value)) - exact) <= Fraction(1, 200)


@pytest.mark.parametrize(
    ("old_s", "expected"), [(0, 0), (0.4, 0), (0.6, 1), (61.2, 61), (-0.6, 0), (-300, 0)]
)
def test_an_age_is_in_rounded_seconds_and_never_negative(old_s: float, expected: int) -> None:
    rate = Rate(code="USD", value=Decimal(1), at=NOW - timedelta(seconds=old_s))

    assert age_s(rate, NOW) == expected


def test_an_answer_is_written_with_every_digit() -> None:
    answer = Answer(
        result=Decimal("1000000000000000000.10"),
        rate=Decimal("41.2000"),
        source="stale",
        age_s=7,
    )

    assert answer.as_json() == (
        b'{"result":1000000000000000000.10,"rate":41.2000,"source":"stale","ageSec":7}'
    )
    assert orjson.loads(answer.as_json())["rate"] == 41.2
