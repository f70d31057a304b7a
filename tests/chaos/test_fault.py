import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.fault import on_until_s


@pytest.mark.parametrize(
    ("now_s", "until_s"),
    [(10, 12), (11.9, 12), (12, 12), (13.9, 13.9), (14, 16), (15, 16), (16, 16)],
)
def test_turns_are_on_and_off_from_the_first_moment(now_s: float, until_s: float) -> None:
    assert on_until_s(2, 10, now_s) == until_s


def test_without_flapping_a_fault_is_on_for_ever() -> None:
    assert on_until_s(None, 10, 11) == math.inf


@given(
    st.floats(0.01, 86_400),
    st.floats(0, 1e7),
    st.integers(0, 1000),
    st.floats(0.001, 0.999),
)
def test_each_turn_is_on_or_off_throughout_and_who_waits_for_its_end_arrives(
    flap_s: float, since_s: float, turn: int, part: float
) -> None:
    now_s = since_s + (turn + part) * flap_s
    until_s = on_until_s(flap_s, since_s, now_s)

    if turn % 2:
        assert until_s == now_s
    else:
        assert until_s == pytest.approx(since_s + (turn + 1) * flap_s)
        assert 0 < until_s - now_s <= flap_s * 1.001
        assert on_until_s(flap_s, since_s, until_s) == until_s
