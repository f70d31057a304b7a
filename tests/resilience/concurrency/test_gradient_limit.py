"""The arithmetic of the limit, result by result."""

import pytest

from resilience import AdaptiveSettings, GradientLimit, LimitReason


class Calls:
    """Calls that end at a pace and in the way that the test sets; they always reach the limit."""

    def __init__(
        self, settings: AdaptiveSettings | None = None, *, shared_ahead_s: float = 0.0
    ) -> None:
        self.limit = GradientLimit(settings or AdaptiveSettings())
        self._shared_ahead_s = shared_ahead_s
        self.now_s = 0.0
        self.reasons: list[LimitReason] = []

    def end(self, latency_s: float | None, times: int, each_s: float = 0.0) -> None:
        """End so many calls; they were refused if they have no latency."""
        for _ in range(times):
            self.now_s += each_s
            running = self.limit.slots
            if self.limit.record(latency_s, running, self.now_s):
                shared_s = self.now_s + self._shared_ahead_s
                reason = self.limit.evaluate(running, self.now_s, shared_s)
                self.reasons += [] if reason is None else [reason]

    def end_probe(self, latency_s: float) -> None:
        """End calls until there are as many slots as the limit says."""
        while self.limit.slots < self.limit.limit:
            self.end(latency_s, 1)


def test_a_round_moves_the_limit_half_way_to_its_share_and_the_headroom() -> None:
    calls = Calls(AdaptiveSettings(initial_limit=25, latency_tolerance=1))
    calls.end_probe(0.1)
    calls.end(0.1, 25)
    assert calls.limit.limit == 28  # 25 + (25 + 1.5 * 5 - 25) / 2 = 28.75
    calls.end(0.125, 28)
    assert calls.limit.limit == 29  # 28.75 + (28.75 * 0.8 + 1.5 * 5.36 - 28.75) / 2 = 29.9
    assert calls.reasons == [LimitReason.GREW, LimitReason.GREW]


def test_it_shrinks_for_latency_and_for_refusals_and_says_so() -> None:
    calls = Calls()
    calls.end_probe(0.1)
    calls.end(0.3, 20)  # 20 + (20 * 1.1 / 3 + 1.5 * 4.47 - 20) / 2 = 17.0
    assert (calls.limit.limit, calls.reasons) == (17, [LimitReason.SLOW])
    calls.end_probe(0.1)
    calls.end(0.1, 14)
    calls.end(None, 6)
    assert (calls.limit.limit, calls.reasons[1:]) == (15, [LimitReason.OVERLOADED])


def in_probes(calls: Calls, latency_s: float, for_s: int) -> list[float]:
    """Let calls end each 10 ms; return when probes began and ended, in turn."""
    changed_at_s: list[float] = []
    for _ in range(100 * for_s):
        calls.end(latency_s, 1, each_s=0.01)
        if (calls.limit.slots < calls.limit.limit) != len(changed_at_s) % 2:
            changed_at_s.append(calls.now_s)
    return changed_at_s


def test_probes_begin_at_multiples_of_their_period_on_the_shared_clock_and_last_a_second() -> None:
    calls = Calls(AdaptiveSettings(max_limit=20), shared_ahead_s=7)
    calls.end_probe(0.1)
    assert in_probes(calls, 0.1, for_s=40) == pytest.approx([13, 14, 33, 34], abs=0.02)


def test_slow_calls_are_probed_for_less_often_and_longer() -> None:
    calls = Calls(AdaptiveSettings(max_limit=20), shared_ahead_s=7)
    calls.end_probe(1.9)
    assert in_probes(calls, 1.9, for_s=100) == pytest.approx([73, 73 + 4 * 1.9], abs=0.02)


def test_calls_that_began_before_a_probe_do_not_count_in_it() -> None:
    calls = Calls()
    calls.end(9.0, 5)  # as many as have a slot
    calls.end(0.1, 20)
    assert calls.limit.unloaded_s == pytest.approx(0.1)


def test_the_first_slow_round_is_followed_by_a_second_probe_which_replaces_the_first() -> None:
    calls = Calls()
    calls.end_probe(0.3)
    calls.end(0.3, 20)
    calls.end(0.9, calls.limit.limit)
    assert calls.limit.slots == calls.limit.limit // 8
    calls.end_probe(0.29)
    assert calls.limit.unloaded_s == pytest.approx(0.29)


def test_a_probe_in_which_most_is_refused_tells_nothing() -> None:
    calls = Calls()
    calls.end(None, 20)
    calls.end_probe(0.1)
    assert calls.limit.unloaded_s is None


def test_after_a_cut_the_calls_that_began_before_it_do_not_count() -> None:
    calls = Calls()
    calls.end_probe(0.1)
    calls.end(None, 20)
    calls.end(9.0, 20)  # as many as ran
    calls.end(0.1, 20)
    assert calls.reasons == [LimitReason.OVERLOADED, LimitReason.GREW]


def test_who_does_not_reach_the_limit_learns_nothing_of_it() -> None:
    limit = GradientLimit(AdaptiveSettings())
    for _ in range(200):
        if limit.record(0.1, 2, 0.0):
            assert limit.evaluate(2, 0.0, 0.0) is None
    assert limit.limit == 20


def test_the_limit_stays_within_its_bounds() -> None:
    limit = GradientLimit(AdaptiveSettings(initial_limit=10, min_limit=8, max_limit=12))
    for latency_s, bound in [(0.1, 12), (None, 8)]:
        for _ in range(500):
            if limit.record(latency_s, limit.slots, 0.0):
                limit.evaluate(limit.slots, 0.0, 0.0)
        assert limit.limit == limit.slots == bound


def test_a_clock_too_coarse_for_the_source_does_not_make_every_answer_slow() -> None:
    calls = Calls()
    calls.end(0.0, 2_000)
    grown = calls.limit.limit
    calls.end(0.001, 2_000)
    assert 20 < grown < calls.limit.limit
