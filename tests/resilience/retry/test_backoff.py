from itertools import islice
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience import RetrySettings
from resilience._internal.backoff import BACKOFFS, Backoff, delays_s
from tests.resilience.fixed_random import FixedRandom


def first(
    kind: Backoff,
    count: int,
    *,
    base_s: float = 1.0,
    draw: float | None = None,
    max_s: float | None = None,
) -> list[float]:
    """Return the first delays; with jitter if there is a draw."""
    chance = FixedRandom(0.5 if draw is None else draw)
    delays = delays_s(kind, base_s, jitter=draw is not None, max_s=max_s, random=chance)
    return list(islice(delays, count))


@pytest.mark.parametrize(
    ("kind", "delays"),
    [
        pytest.param("constant", [1, 1, 1], id="PT-052"),
        pytest.param("linear", [1, 2, 3], id="PT-057"),
        pytest.param("exponential", [1, 2, 4], id="PT-063"),
    ],
)
def test_delays_grow_as_their_kind_says(kind: Backoff, delays: list[float]) -> None:
    assert first(kind, 3) == delays


@pytest.mark.parametrize("kind", BACKOFFS)
@pytest.mark.parametrize("draw", [None, 0.7])
def test_a_base_of_zero_never_waits(kind: Backoff, draw: float | None) -> None:
    assert first(kind, 1100, base_s=0, draw=draw) == [0.0] * 1100


@pytest.mark.parametrize(
    ("kind", "retry", "draw", "delay"),
    [
        pytest.param("constant", 0, 0.4, 0.95, id="PT-054"),
        pytest.param("linear", 2, 0.0, 2.25, id="PT-058"),
        pytest.param("linear", 2, 0.4, 2.85, id="PT-059"),
        pytest.param("linear", 2, 0.6, 3.15, id="PT-061"),
        pytest.param("linear", 2, 1.0, 3.75, id="PT-062"),
    ],
)
def test_jitter_spreads_constant_and_linear_delays_by_a_quarter(
    kind: Backoff, retry: int, draw: float, delay: float
) -> None:
    assert first(kind, retry + 1, draw=draw)[retry] == pytest.approx(delay)


@pytest.mark.parametrize(
    ("draw", "delays"),
    [
        pytest.param(0.0, [0, 1.377182, 1.460067, 2.86585, 5.717807], id="PS-002"),
        pytest.param(0.25, [0.646924, 1.01357, 1.720438, 3.40451, 6.79837], id="PS-003"),
        pytest.param(0.5, [0.897405, 1.093004, 2.035748, 4.045979, 8.083632], id="PS-004"),
        pytest.param(0.75, [1.12836, 1.250132, 2.414001, 4.809443, 9.612264], id="PS-005"),
    ],
)
def test_exponential_jitter_is_decorrelated(draw: float, delays: list[float]) -> None:
    assert first("exponential", 5, draw=draw) == pytest.approx(delays, abs=1e-6)


def test_the_longest_delay_caps_longer_ones_only_pt_065() -> None:
    assert first("constant", 1, max_s=2) == [1]
    assert first("exponential", 4, max_s=3) == [1, 2, 3, 3]


@pytest.mark.parametrize("max_s", [None, 30.0])
def test_delays_stay_positive_and_bounded_however_many_retries_pt_067(max_s: float | None) -> None:
    delays = delays_s("exponential", 2.0, jitter=True, max_s=max_s, random=Random(5))
    assert all(0 < delay <= (max_s or 86_400) for delay in islice(delays, 1100))


@given(
    st.sampled_from(["constant", "linear"]), st.floats(0, 1000), st.integers(0, 50), st.integers()
)
def test_jitter_stays_within_a_quarter_of_the_delay_pt_068(
    kind: Backoff, base_s: float, retry: int, seed: int
) -> None:
    plain = list(
        islice(delays_s(kind, base_s, jitter=False, max_s=None, random=Random()), retry + 1)
    )
    spread = delays_s(kind, base_s, jitter=True, max_s=None, random=Random(seed))
    for delay, middle in zip(spread, plain, strict=False):
        assert 0.75 * middle <= delay * (1 + 1e-12)
        assert delay <= 1.25 * middle * (1 + 1e-12)


@given(st.floats(0, 100), st.integers())
def test_decorrelated_jitter_stays_below_four_times_the_power_pt_069(
    base_s: float, seed: int
) -> None:
    delays = delays_s("exponential", base_s, jitter=True, max_s=None, random=Random(seed))
    for retry, delay in enumerate(islice(delays, 9)):
        assert 0 <= delay <= base_s * 2**retry * 4


def test_the_same_seed_repeats_the_same_delays() -> None:
    one, two = (
        list(islice(delays_s("exponential", 1, jitter=True, max_s=None, random=Random(7)), 9))
        for _ in range(2)
    )
    assert one == two


def test_the_default_waits_are_as_long_as_their_settings_say() -> None:
    rules = RetrySettings()
    calls = [
        list(
            islice(
                delays_s(
                    rules.backoff,
                    rules.base_delay_s,
                    jitter=rules.jitter,
                    max_s=rules.max_delay_s,
                    random=Random(seed),
                ),
                10,
            )
        )
        for seed in range(2000)
    ]
    in_all = [sum(waits_s[: rules.max_retries]) for waits_s in calls]
    assert mean(in_all) == pytest.approx(8, abs=0.3)
    assert 11 < max(in_all) < 11.45
    assert 8 < max(waits_s[2] for waits_s in calls) < 8.75
    assert mean(waits_s[9] for waits_s in calls) == pytest.approx(9 * 60, rel=0.05)
