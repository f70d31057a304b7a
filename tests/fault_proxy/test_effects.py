import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_proxy import Delay, Drip, FailFirst, Status, Truncate
from fault_proxy.faults.effects import Cut, Ending, Noise, Pieces, TokenBucket
from fault_proxy.faults.verdict import Hit, in_effect, judge


@given(
    rate=st.integers(1, 10**7),
    waits_s=st.lists(st.floats(0, 2), max_size=50),
    wanted=st.integers(1, 10**6),
)
def test_a_token_bucket_never_exceeds_its_rate_and_burst(
    rate: int, waits_s: list[float], wanted: int
) -> None:
    bucket, now_s, passed = TokenBucket(rate, 0.0), 0.0, 0
    for wait_s in waits_s:
        now_s += wait_s
        count = bucket.allowance(wanted, now_s)
        bucket.passed(count, now_s)
        passed += count

        assert passed <= max(1, rate / 20) + now_s * rate + 1e-3


@given(rate=st.integers(1, 10**9), wanted=st.integers(1, 10**6))
def test_an_empty_bucket_says_when_it_has_enough(rate: int, wanted: int) -> None:
    bucket = TokenBucket(rate, 0.0)
    bucket.passed(bucket.allowance(10**9, 0.0), 0.0)
    at_s = bucket.allowed_at_s(wanted, 0.0)

    assert at_s > 0
    assert bucket.allowance(wanted, at_s) > 0


def test_pieces_pass_one_by_one_after_their_pause() -> None:
    pieces = Pieces(4, pause_s=0.5)
    assert pieces.allowance(10, now_s=1.0) == 4
    pieces.passed(4, now_s=1.0)

    assert pieces.allowance(6, now_s=1.4) == 0
    assert pieces.allowed_at_s(6, now_s=1.4) == 1.5
    assert pieces.allowance(3, now_s=1.5) == 3


def test_a_cut_ends_at_its_byte_or_at_its_time() -> None:
    cut = Cut(Ending.RESET, after_bytes=5, at_s=9.0)
    assert (cut.allowance(10, 0.0), cut.ending(0.0), cut.ends_at_s()) == (5, None, 9.0)
    assert cut.ending(9.0) is Ending.RESET
    cut.passed(5, 0.0)

    assert cut.ending(0.0) is Ending.RESET


@given(
    share=st.floats(0.01, 1),
    pieces=st.lists(st.binary(max_size=200), max_size=10),
    seed=st.integers(),
)
def test_noise_depends_on_the_seed_and_not_on_how_the_bytes_are_cut(
    share: float, pieces: list[bytes], seed: int
) -> None:
    whole = Noise(share, random.Random(seed)).altered(b"".join(pieces))
    in_pieces = Noise(share, random.Random(seed))

    assert b"".join(map(in_pieces.altered, pieces)) == whole
    assert len(whole) == sum(map(len, pieces))


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 1.0])
def test_noise_hits_its_share(share: float) -> None:
    n = 100_000
    hit = sum(byte != 0 for byte in Noise(share, random.Random(1)).altered(bytes(n)))

    assert abs(hit - n * share) <= 4 * math.sqrt(n * share * (1 - share))


@given(seed=st.integers(), probability=st.floats(0, 1))
def test_a_judgement_always_draws_two_numbers(seed: int, probability: float) -> None:
    for fault in (
        Status(probability=probability),
        Delay(delay_ms=5, probability=probability),
        FailFirst(requests=1),
    ):
        dice, reference = random.Random(seed), random.Random(seed)
        judge("1", fault, dice, 1)
        reference.random(), reference.random()

        assert dice.random() == reference.random()


def test_a_jittered_delay_stays_in_its_range_and_never_below_zero() -> None:
    dice = random.Random(1)
    hits = [judge("1", Delay(delay_ms=10, jitter_ms=20), dice, n) for n in range(1, 500)]
    delays_ms = [hit.delay_s * 1000 for hit in hits if hit]

    assert min(delays_ms) > 0
    assert max(delays_ms) <= 30
    assert 50 < hits.count(None) < 150  # below 0 in a quarter of the cases: untouched


def test_an_answer_of_the_proxys_own_is_neither_dripped_nor_truncated() -> None:
    faults = (
        Truncate(),
        Drip(),
        FailFirst(requests=1),
        Status(),
        Delay(delay_ms=1),
    )
    hits = [Hit(fault_id=fault.kind, fault=fault) for fault in faults]

    assert [hit.fault.kind for hit in in_effect(hits, body=True)] == ["delay", "failFirst"]
    assert [hit.fault.kind for hit in in_effect(hits[:2], body=True)] == ["drip", "truncate"]
    assert in_effect(hits[:2], body=False) == ()
