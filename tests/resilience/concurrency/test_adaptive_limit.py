"""What the limit promises, on simulated sources; the margins hold for 98 seeds of a hundred."""

from statistics import mean

import pytest

from resilience import AdaptiveSettings, GradientLimit
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
