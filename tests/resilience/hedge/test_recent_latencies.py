import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience.hedge import RecentLatencies


@pytest.mark.parametrize(
    ("percentile", "enough"), [(50, 20), (90, 20), (95, 20), (98, 50), (99, 100)]
)
def test_a_percentile_is_known_once_the_sample_carries_it(percentile: float, enough: int) -> None:
    recent = RecentLatencies(percentile)
    for count in range(1, enough + 1):
        assert recent.percentile_s() is None
        recent.add(float(count))
    assert recent.percentile_s() == math.ceil(percentile / 100 * enough)


@given(st.lists(st.floats(0, 10), min_size=20, max_size=450), st.integers(50, 95))
def test_it_is_the_nearest_rank_of_the_latest_two_hundred(
    latencies_s: list[float], percentile: int
) -> None:
    recent = RecentLatencies(percentile)
    for latency_s in latencies_s:
        recent.add(latency_s)
    latest = sorted(latencies_s[-200:])
    assert recent.percentile_s() == latest[math.ceil(percentile * len(latest) / 100) - 1]
