import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos import ChaosDocument, Verdict, judge
from chaos.verdict import Failure


def verdicts(document: ChaosDocument, calls: int, seed: int = 7) -> list[Verdict]:
    dice = random.Random(seed)
    return [judge(document, dice, n) for n in range(1, calls + 1)]


def failed(document: ChaosDocument, calls: int = 50) -> list[bool]:
    return [verdict.failure is not None for verdict in verdicts(document, calls)]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 1.0])
def test_the_share_of_failures_is_exact_over_many_calls(share: float) -> None:
    calls = 10_000
    sigma = (calls * share * (1 - share)) ** 0.5

    count = sum(failed(ChaosDocument(failure=share), calls))

    assert abs(count - calls * share) <= 3 * sigma


def test_a_seeded_run_repeats_to_the_letter() -> None:
    document = ChaosDocument(failure=0.3, delay_ms=20, jitter_ms=10)

    assert verdicts(document, 200, seed=1) == verdicts(document, 200, seed=1)
    assert verdicts(document, 200, seed=1) != verdicts(document, 200, seed=2)


def test_a_jitter_leaves_untouched_which_calls_fail() -> None:
    assert failed(ChaosDocument(failure=0.5)) == failed(
        ChaosDocument(failure=0.5, delay_ms=5, jitter_ms=5)
    )


def test_the_first_n_fail_and_later_ones_meet_the_fate_they_would_have_met() -> None:
    plain = failed(ChaosDocument(failure=0.3))

    assert failed(ChaosDocument(failure=0.3, fail_first=4)) == [True] * 4 + plain[4:]


@given(st.floats(0, 1000), st.floats(0, 1000), st.integers())
def test_a_delay_stays_within_its_jitter_and_is_never_negative(
    delay_ms: float, jitter_ms: float, seed: int
) -> None:
    (verdict,) = verdicts(ChaosDocument(delay_ms=delay_ms, jitter_ms=jitter_ms), 1, seed)

    lowest = max(0.0, delay_ms - jitter_ms) / 1000
    highest = (delay_ms + jitter_ms) / 1000
    assert lowest - 1e-9 <= verdict.delay_s <= highest + 1e-9


@pytest.mark.parametrize(
    ("document", "touched"),
    [
        (ChaosDocument(), ()),
        (ChaosDocument(failure=1), ("failure",)),
        (ChaosDocument(fail_first=1), ("failFirst",)),
        (ChaosDocument(fail_first=1, failure=1), ("failFirst",)),
        (ChaosDocument(delay_ms=5), ("delay",)),
        (ChaosDocument(delay_ms=5, failure=1), ("delay", "failure")),
    ],
)
def test_a_verdict_names_what_touched_the_request(
    document: ChaosDocument, touched: tuple[str, ...]
) -> None:
    (verdict,) = verdicts(document, 1)

    assert verdict.touched == touched


def test_a_failure_carries_status_and_retry_after() -> None:
    (verdict,) = verdicts(ChaosDocument(failure=1, status=503, retry_after_s=7), 1)

    assert verdict.failure == Failure(status=503, retry_after_s=7)
