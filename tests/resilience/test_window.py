import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience._internal.window import RollingWindow


@pytest.mark.parametrize(
    ("sampling_s", "buckets"),
    [pytest.param(0.1, 1, id="PT-015"), pytest.param(0.201, 10, id="PT-018")],
)
def test_a_window_shorter_than_200_ms_is_one_bucket(sampling_s: float, buckets: int) -> None:
    assert RollingWindow(sampling_s).buckets == buckets


def test_throughput_is_successes_and_failures_together_pt_019() -> None:
    window = RollingWindow(10)
    window.record_failure(0)
    for _ in range(4):
        window.record_success(0)
    assert window.counts(0) == (5, 1)


def test_old_results_leave_the_window_bucket_by_bucket_pt_020() -> None:
    window = RollingWindow(10)
    seen = []
    for step in range(5):
        now_s = 2.0 * step
        first = window.record_failure if step < 2 else window.record_success
        first(now_s)
        window.record_success(now_s)
        seen.append(window.counts(now_s + 2))
    seen.append(window.counts(12))
    assert seen == [(2, 1), (4, 2), (6, 2), (8, 2), (8, 1), (6, 0)]


def test_a_bucket_leaves_when_it_is_as_old_as_the_window_pt_021() -> None:
    window = RollingWindow(10)
    for second in range(10):
        window.record_success(second)
    assert window.counts(10) == (9, 0)
    assert window.counts(11) == (8, 0)


def test_a_reset_window_is_empty_pt_023() -> None:
    window = RollingWindow(10)
    window.record_success(0)
    window.reset()
    assert window.counts(0) == (0, 0)


def naive_counts(
    results: list[tuple[int, bool]], now: int, sampling: int, bucket: int
) -> tuple[int, int]:
    """Count again from the whole history: assign each result to a bucket, drop the old ones."""
    starts: list[int] = []
    placed: list[tuple[int, bool]] = []
    for at, failed in results:
        if not starts or at - starts[-1] >= bucket:
            starts.append(at)
        placed.append((starts[-1], failed))
    kept = [failed for start, failed in placed if now - start < sampling]
    return len(kept), sum(kept)


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60), st.integers(0, 200))
def test_the_counts_agree_with_a_count_over_the_whole_history(
    steps: list[tuple[int, bool]], wait: int
) -> None:
    window = RollingWindow(100)
    now, results = 0, []
    for gap, failed in steps:
        now += gap
        (window.record_failure if failed else window.record_success)(now)
        results.append((now, failed))
    assert window.counts(now + wait) == naive_counts(results, now + wait, 100, 10)
