"""Which limit leaves a process exactly so many descriptors."""

from hypothesis import given
from hypothesis import strategies as st

from lab.faults.descriptors import limit_for


@given(open_numbers=st.frozensets(st.integers(0, 60)), spare=st.integers(0, 20))
def test_below_the_limit_exactly_the_spare_numbers_are_free(
    open_numbers: frozenset[int], spare: int
) -> None:
    limit = limit_for(open_numbers, spare)

    assert len(set(range(limit)) - open_numbers) == spare
    assert limit not in open_numbers
