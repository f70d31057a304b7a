"""How late the event loop was, weighed by time: a law of numbers, without a clock."""

import pytest

from loadgen.watch import LOOK_EVERY_S, LagLog

NEAR_S = 1.5 * LOOK_EVERY_S  # the time since the last look is no lateness


def watched(
    length_s: float, stalls: dict[float, float], *, since: float = 0.0, per_s: float = 100.0
) -> LagLog:
    """Return the log of looks over a time, in which the loop stands still from some moments on.

    Args:
        length_s: of the whole.
        stalls: when one begins -> how long it lasts.
        since: from when on lateness counts.
        per_s: requests that end; those of a stall at its end.
    """
    log, now = LagLog(), 0.0
    while now < length_s:
        expected = now + LOOK_EVERY_S
        begun = next((begin for begin in stalls if now <= begin < expected), None)
        now = expected if begun is None else begun + stalls.pop(begun)
        log.add(expected=expected, now=now, since=since, ended=round(max(0, now - since) * per_s))
    return log


def test_a_stall_counts_with_its_whole_length() -> None:
    log = watched(60, {30.0: 1.0})

    assert log.stalls == 1
    assert log.stalled_s == pytest.approx(1, abs=NEAR_S)
    assert log.longest_s == pytest.approx(1, abs=NEAR_S)
    assert log.caught_up == pytest.approx(100, abs=3)


@pytest.mark.parametrize(
    ("length_s", "stalls", "p99_s"),
    [
        (10, {}, 0),
        (10, {5.0: 1.0}, 0.9),  # for a tenth of a second the loop had 0.9 s or more to go
        (60, {59.0: 1.0}, 0.4),
        (200, {5.0: 1.0}, 0),
        (20, {2.0 * n + 1: 0.2 for n in range(10)}, 0.18),
    ],
)
def test_the_p99_of_lateness_is_of_the_time_and_not_of_looks(
    length_s: float, stalls: dict[float, float], p99_s: float
) -> None:
    log = watched(length_s, stalls)

    assert log.percentile_s(0.99, over_s=length_s) == pytest.approx(p99_s, abs=NEAR_S)


def test_hiccups_of_a_busy_machine_are_no_stalls() -> None:
    log = watched(10, {float(second): 0.04 for second in range(10)})

    assert (log.stalls, log.stalled_s, log.caught_up) == (0, 0, 0)


@pytest.mark.parametrize(
    ("begin", "stalled_s"), [(0.0, 1.0), (9.5, 1.0)], ids=["at the start", "at the end"]
)
def test_a_stall_counts_wherever_it_is(begin: float, stalled_s: float) -> None:
    log = watched(10, {begin: 1.0})

    assert log.stalled_s == pytest.approx(stalled_s, abs=NEAR_S)


def test_of_a_stall_that_begins_in_the_warm_up_counts_what_is_after_it() -> None:
    log = watched(10, {1.0: 1.0, 4.5: 1.0}, since=5.0)

    assert log.stalls == 1
    assert log.stalled_s == pytest.approx(0.5, abs=NEAR_S)


def test_a_stall_that_is_slight_beside_the_latencies_held_nobody_up() -> None:
    """A pause of 60 ms bends latencies of 6 s by a hundredth, and more than doubles 50 ms."""
    log = watched(12, {6.0: 0.06})

    assert log.held_up_of(50, 12, 100) == 0
    assert log.held_up_of(4, 12, 960) == log.caught_up > 0


def test_a_stall_that_met_no_request_bends_no_figure() -> None:
    idle, busy = watched(10, {5.0: 0.5}, per_s=0), watched(10, {5.0: 0.5})

    assert (idle.stalls, idle.stalled_share(over_s=10)) == (1, 0)
    assert busy.stalled_share(over_s=10) == pytest.approx(0.05, abs=0.002)
