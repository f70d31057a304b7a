import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen import Sample, Samples, percentile, summarise


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [
        (19, 0.95, None),  # p95 of 19 would be the maximum
        (20, 0.95, 19),
        (99, 0.99, None),
        (100, 0.99, 99),
        (200, 0.95, 190),
        (1, 0.50, None),
        (2, 0.50, 1),
        (5, 0.50, 3),
    ],
)
def test_percentiles_are_nearest_rank_and_absent_in_small_samples(
    n: int, share: float, expected: int | None
) -> None:
    assert percentile(range(1, n + 1), share) == expected


@given(st.lists(st.floats(0, 1e6), min_size=20), st.sampled_from([0.5, 0.9, 0.95]))
def test_a_percentile_is_the_smallest_value_with_its_share_at_or_below_it(
    values: list[float], share: float
) -> None:
    values.sort()
    found = percentile(values, share)

    assert found is not None
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < math.ceil(round(share * len(values), 6))


def _samples(*outcomes: str) -> Samples:
    samples = Samples()
    for number, outcome in enumerate(outcomes):
        samples.add(Sample(number * 0.5, number * 0.5, number * 0.5 + 0.25, outcome, 200, ""))
    return samples


def test_the_classes_of_a_summary_add_up_to_its_requests() -> None:
    summary = summarise(_samples("fresh", "error", "fresh", "stale"), ("fresh", "stale"))

    assert summary.counts == {"fresh": 2, "stale": 1, "error": 1, "generator_error": 0}
    assert sum(summary.counts.values()) == summary.requests == 4


def test_the_rate_is_requests_over_the_time_from_first_to_last() -> None:
    summary = summarise(_samples("fresh", "fresh", "fresh"), ("fresh",))

    assert summary.duration_s == pytest.approx(1.25)
    assert summary.requests_per_s == pytest.approx(3 / 1.25)
    assert summary.mean_ms == pytest.approx(250)


def test_the_rate_of_an_open_load_is_over_the_time_in_which_it_fell_due() -> None:
    """Two requests in two seconds are one a second, although the last ends long before the end."""
    summary = summarise(_samples("fresh", "fresh"), ("fresh",), scheduled_s=2)

    assert summary.requests_per_s == 1
    assert summary.duration_s == pytest.approx(0.75)


def test_what_the_generator_could_not_send_is_counted_apart_and_has_no_latency() -> None:
    samples = _samples("fresh", "error")
    samples.add(Sample(0, None, 9, "generator_error", None, "too many open files (limit 64)"))
    summary = summarise(samples, ("fresh",))

    assert summary.counts == {"fresh": 1, "error": 1, "generator_error": 1}
    assert summary.mean_ms == summary.max_ms == pytest.approx(250)


def test_a_load_of_which_nothing_could_be_sent_has_no_latencies() -> None:
    samples = Samples()
    samples.add(Sample(0, None, 9, "generator_error", None, "no free local port"))
    summary = summarise(samples, ("fresh",))

    assert (summary.mean_ms, summary.p50_ms, summary.max_ms) == (None, None, None)


def test_nothing_sent_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(ValueError, match="nothing to summarise"):
        summarise(Samples(), ("fresh",))
