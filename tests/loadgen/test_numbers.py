"""How figures are written: no rounding says "none" or "all"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen import percent, significant


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1 / 10_000_000, "<0.01 %"),
        (1 / 50_000, "<0.01 %"),
        (0.00005001, "0.01 %"),
        (0.0004, "0.04 %"),
        (0.285, "28.5 %"),
        (1 / 3, "33.33 %"),
        (0.3, "30 %"),
        (0.97, "97 %"),
        (0.9999, "99.99 %"),
        (1 - 1 / 50_000, ">99.99 %"),
        (1 - 1 / 10_000_000, ">99.99 %"),
        (1, "100 %"),
        (1.00001, ">100 %"),  # of a budget
        (2.5, "250 %"),
    ],
)
def test_a_share_has_two_decimals_at_most_and_never_rounds_to_none_or_all(
    share: float, text: str
) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.003, "<1 %"), (0.03, "3 %"), (0.996, ">99 %"), (1, "100 %"), (0, "0 %")]
)
def test_whole_percents_do_not_lie_either(share: float, text: str) -> None:
    assert percent(share, decimals=0) == text


@given(st.integers(1, 10_000_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_of_any_number_of_requests_0_is_none_and_100_is_all(counts: tuple[int, int]) -> None:
    part, whole = counts

    assert (percent(part / whole) == "0 %") == (part == 0)
    assert (percent(part / whole) == "100 %") == (part == whole)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 2, "0"),
        (0.0000004, 2, "0.00000040"),
        (0.04, 2, "0.040"),
        (0.36, 2, "0.36"),
        (0.999, 2, "1.0"),
        (9.96, 2, "10"),
        (12.34, 2, "12"),
        (2451.4, 2, "2451"),
        (9.999, 3, "10.0"),
        (0.0123, 3, "0.0123"),
        (401.6, 3, "402"),
    ],
)
def test_a_number_keeps_its_digits_however_small_it_is(
    value: float, digits: int, text: str
) -> None:
    assert significant(value, digits) == text


@given(st.floats(1e-12, 1e12), st.integers(1, 6))
def test_no_number_above_0_reads_as_0_or_is_off_by_more_than_its_last_digit(
    value: float, digits: int
) -> None:
    text = significant(value, digits)

    assert float(text) > 0
    assert float(text) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
