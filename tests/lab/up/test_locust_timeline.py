"""What the Chaos page draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.up.locust_pages.timeline import KEPT_S, Timeline
from lab.up.locust_pages.windows import FaultWindows

requests = st.lists(
    st.tuples(
        st.integers(0, KEPT_S - 1),
        st.sampled_from(["fresh", "stale", "error"]),
        st.floats(0, 60_000),
    )
)


def test_a_second_counts_what_ended_in_it_and_is_shown_once_it_is_over() -> None:
    timeline = Timeline()
    for finished_s, outcome in [(10.0, "fresh"), (10.9, "fresh"), (10.5, "stale"), (11.2, "error")]:
        timeline.add(finished_s, outcome, 8.0)

    (tenth,) = timeline.points(before_s=11.9)
    assert [point["t"] for point in timeline.points(before_s=12.0)] == [10, 11]
    assert (tenth["fresh"], tenth["stale"], tenth["error"]) == (2, 1, 0)


def test_percentiles_are_true_to_2_5_percent_and_shown_where_the_sample_carries_them() -> None:
    timeline = Timeline()
    for n in range(1, 20):
        timeline.add(5, "fresh", n)
    few = timeline.points(before_s=6)[0]
    timeline.add(5, "fresh", 1000)
    enough = timeline.points(before_s=6)[0]

    assert few["p50Ms"] == pytest.approx(10, rel=0.025)
    assert few["p95Ms"] is None
    assert enough["p50Ms"] == pytest.approx(10, rel=0.025)
    assert enough["p95Ms"] == pytest.approx(19, rel=0.025)


@given(requests, st.integers(1, 4))
def test_workers_reports_add_up_to_what_one_process_would_have_counted(
    finished: list[tuple[int, str, float]], workers: int
) -> None:
    alone, master = Timeline(), Timeline()
    parts = [Timeline() for _ in range(workers)]
    for n, request in enumerate(finished):
        alone.add(*request)
        parts[n % workers].add(*request)
    for part in parts:
        master.merge(part.take())
        master.merge(part.take())

    assert master.points(before_s=KEPT_S) == alone.points(before_s=KEPT_S)


def test_a_long_run_keeps_the_last_minutes_only() -> None:
    timeline = Timeline()
    for second in range(3 * KEPT_S):
        timeline.add(second, "fresh", 1)

    assert [point["t"] for point in timeline.points(before_s=1e9)] == list(
        range(2 * KEPT_S, 3 * KEPT_S)
    )


def test_a_fault_is_a_window_from_the_first_look_that_sees_it_to_the_first_that_does_not() -> None:
    windows = FaultWindows()
    for at_s, labels in [(1, []), (2, ["a"]), (3, ["a", "b"]), (4, ["b"]), (5, ["a", "b"])]:
        windows.observe(at_s, labels)

    assert [(each.label, each.from_s, each.until_s) for each in windows] == [
        ("a", 2, 4),
        ("b", 3, None),
        ("a", 5, None),
    ]


def test_windows_long_over_are_forgotten_and_those_still_on_are_not() -> None:
    windows = FaultWindows()
    windows.observe(0, ["on", "over"])
    windows.observe(1, ["on"])
    windows.observe(10_000, ["on"])

    assert [each.label for each in windows] == ["on"]
