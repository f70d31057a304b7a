import random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos import ChaosDocument, Verdict, judge
from chaos.document import BodyFault
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


@pytest.mark.parametrize("body", get_args(BodyFault))
def test_a_body_leaves_untouched_which_calls_fail(body: BodyFault) -> None:
    assert failed(ChaosDocument(failure=0.5)) == failed(ChaosDocument(failure=0.5, body=body))


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
        (ChaosDocument(body="drip"), ("body=drip",)),
        (ChaosDocument(body="empty", fail_first=1), ("failFirst", "body=empty")),
        (ChaosDocument(hang=True), ("hang",)),
        (ChaosDocument(hang=True, delay_ms=5, failure=1, body="drip"), ("hang",)),
    ],
)
def test_a_verdict_names_what_touched_the_request(
    document: ChaosDocument, touched: tuple[str, ...]
) -> None:
    (verdict,) = verdicts(document, 1)

    assert verdict.touched == touched


def test_a_failure_carries_status_and_retry_after() -> None:
    (verdict,) = verdicts(ChaosDocument(failure=1, status=503, retry_after_s=7), 1)

    assert verdict.failure == Failure(cause="failure", status=503, retry_after_s=7)


DOCUMENTS = st.builds(
    ChaosDocument,
    failure=st.floats(0, 1),
    delay_ms=st.floats(0, 1000),
    jitter_ms=st.floats(0, 1000),
    fail_first=st.integers(0, 3),
    body=st.sampled_from([None, *get_args(BodyFault)]),
    hang=st.booleans(),
)


@given(DOCUMENTS, st.integers(0, 2**63 - 1), st.integers(1, 6))
def test_any_verdict_follows_from_document_seed_and_number(
    document: ChaosDocument, seed: int, n: int
) -> None:
    dice, same_dice = random.Random(seed), random.Random(seed)

    verdict = judge(document, dice, n)

    assert verdict == judge(document, same_dice, n)
    assert dice.getstate() == after_one_verdict(seed)
    assert not verdict.touched or document.has_effect
    assert verdict.hang is document.hang
    assert verdict.touched == tuple(sorted(verdict.touched, key=in_order))
    if not document.hang:
        assert verdict.body == document.body
        assert (verdict.failure is not None) >= (n <= document.fail_first or document.failure == 1)


def after_one_verdict(seed: int) -> object:
    dice = random.Random(seed)
    judge(ChaosDocument(), dice, 1)
    return dice.getstate()


def in_order(mark: str) -> int:
    return ("hang", "delay", "failFirst", "failure", "body").index(mark.partition("=")[0])
