"""What the limit promises, on simulated sources; the margins hold for 98 seeds of a hundred."""

from statistics import mean

import pytest

from resilience import AdaptiveSettings, GradientLimit, LimitReason
from tests.resilience.concurrency.source_simulation import (
    SERVICES,
    Client,
    FixedLimit,
    Simulation,
)

WORKERS = 20
PER_S = WORKERS / 0.05
SETTLED_S = 25  # a probe at the start, another within 20 s, and time to follow it


def client(callers: int = 5 * WORKERS) -> Client:
    return Client(GradientLimit(AdaptiveSettings()), callers)


def simulated(source: Simulation, *clients: Client, for_s: float = 60) -> Simulation:
    for one in clients:
        source.add(one)
    source.run(for_s)
    return source


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("service", SERVICES)
def test_a_source_is_kept_busy_however_its_calls_differ(service: str, seed: int) -> None:
    def answered_per_s(one: Client) -> float:
        source = Simulation(WORKERS, service=SERVICES[service], seed=seed)
        return simulated(source, one).answered_per_s(SETTLED_S, 60)

    source = Simulation(WORKERS, service=SERVICES[service], seed=seed)
    limits = simulated(source, client()).limits(SETTLED_S, 60)
    assert answered_per_s(client()) >= 0.9 * answered_per_s(Client(FixedLimit(WORKERS), 100))
    assert min(limits) >= WORKERS / 2
    assert mean(limits) <= 4 * WORKERS


@pytest.mark.parametrize("share", [0.02, 0.07, 0.1, 0.2, 0.3])
def test_what_is_refused_at_any_load_does_not_cut_the_limit(share: float) -> None:
    source = simulated(Simulation(WORKERS, refused_share=share), client())
    assert source.answered_per_s(SETTLED_S, 60) >= 0.9 * PER_S
    assert min(source.limits(SETTLED_S, 60)) >= WORKERS / 2


def test_what_fails_says_nothing() -> None:
    source = simulated(Simulation(WORKERS, failed_share=0.3), client())
    assert source.answered_per_s(SETTLED_S, 60) >= 0.9 * PER_S


@pytest.mark.parametrize("most_waiting", [0, WORKERS])
def test_a_source_that_refuses_what_is_too_much_is_not_flooded(most_waiting: int) -> None:
    source = simulated(Simulation(WORKERS, most_waiting=most_waiting), client())
    assert source.answered_per_s(SETTLED_S, 60) >= 0.9 * PER_S
    assert mean(source.limits(SETTLED_S, 60)) <= 1.2 * (WORKERS + most_waiting)


def test_one_worker_is_soon_found_to_be_one() -> None:
    source = simulated(Simulation(1), client())
    assert max(source.limits(30, 60)) <= 8
    assert source.answered_per_s(0, 60) >= 0.9 / 0.05


@pytest.mark.parametrize("clients", [2, 10])
@pytest.mark.parametrize("stagger_s", [0, 7], ids=["at once", "one by one"])
def test_clients_share_a_source_and_do_not_outgrow_it(clients: int, stagger_s: float) -> None:
    source = Simulation(WORKERS)
    for number in range(clients):
        source.at(number * stagger_s, lambda: source.add(client()))
    source.run(400)
    assert source.answered_per_s(100, 400) >= 0.9 * PER_S
    assert source.fairness(100, 400) >= 0.8
    assert mean(source.limits(100, 250)) <= 5 * WORKERS
    assert mean(source.limits(250, 400)) <= 5 * WORKERS


def test_clocks_that_differ_a_little_do_no_harm() -> None:
    source = Simulation(WORKERS)
    for number in range(10):
        source.add(Client(GradientLimit(AdaptiveSettings()), 100, clock_ahead_s=0.02 * number))
    source.run(300)
    assert mean(source.limits(200, 300)) <= 5 * WORKERS


def test_a_few_callers_are_not_starved_by_many() -> None:
    few = client(callers=3)
    simulated(Simulation(WORKERS), few, client())
    assert few.answered(SETTLED_S, 60) >= 0.3 * 3 / 0.05 * (60 - SETTLED_S)


def test_the_limit_follows_a_source_that_changes_size() -> None:
    source = Simulation(2 * WORKERS)
    source.at(40, lambda: setattr(source, "workers", WORKERS // 2))
    source.at(80, lambda: setattr(source, "workers", 2 * WORKERS))
    simulated(source, client(callers=200), for_s=120)
    assert mean(source.limits(60, 80)) <= 2 * WORKERS
    assert source.answered_per_s(45, 80) >= 0.9 * PER_S / 2
    assert source.answered_per_s(90, 120) >= 0.9 * 2 * PER_S


@pytest.mark.parametrize("times", [2, 4])
def test_a_source_that_became_slower_for_good_is_known_as_such_after_a_probe(times: float) -> None:
    source = Simulation(WORKERS)
    source.at(45, lambda: setattr(source, "mean_s", times * 0.05))
    simulated(source, client(), for_s=120)
    assert source.answered_per_s(70, 120) >= 0.85 * PER_S / times


def test_an_outage_leaves_one_call_at_a_time_and_is_soon_forgotten() -> None:
    source = Simulation(WORKERS)
    source.at(30, lambda: setattr(source, "refused_share", 1.0))
    source.at(60, lambda: setattr(source, "refused_share", 0.0))
    simulated(source, client(), for_s=100)
    assert max(source.limits(40, 60)) == 1
    assert source.answered_per_s(75, 100) >= 0.9 * PER_S


def test_a_source_of_slow_calls_is_kept_busy() -> None:
    source = simulated(Simulation(WORKERS, mean_s=2), client(), for_s=900)
    assert source.answered_per_s(200, 900) >= 0.85 * WORKERS / 2


def test_a_quiet_phase_is_no_reason_to_change() -> None:
    one = client()
    source = Simulation(WORKERS)
    source.at(40, lambda: setattr(one, "callers", 2))
    source.at(100, lambda: setattr(one, "callers", 100))
    simulated(source, one, for_s=130)
    assert min(source.limits(SETTLED_S, 130)) >= WORKERS / 2
    assert source.answered_per_s(101, 130) >= 0.9 * PER_S


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
                reason = self.limit.conclude(running, self.now_s, shared_s)
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
            assert limit.conclude(2, 0.0, 0.0) is None
    assert limit.limit == 20


def test_the_limit_stays_within_its_bounds() -> None:
    limit = GradientLimit(AdaptiveSettings(initial_limit=10, min_limit=8, max_limit=12))
    for latency_s, bound in [(0.1, 12), (None, 8)]:
        for _ in range(500):
            if limit.record(latency_s, limit.slots, 0.0):
                limit.conclude(limit.slots, 0.0, 0.0)
        assert limit.limit == limit.slots == bound


def test_a_clock_too_coarse_for_the_source_does_not_make_every_answer_slow() -> None:
    calls = Calls()
    calls.end(0.0, 2_000)
    grown = calls.limit.limit
    calls.end(0.001, 2_000)
    assert 20 < grown < calls.limit.limit
