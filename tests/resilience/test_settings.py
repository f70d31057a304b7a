import math
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from typing import Any

import httpx
import pytest

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    BulkheadSettings,
    Fallback,
    HedgeSettings,
    Policies,
    RateLimit,
    RetryBudget,
    RetrySettings,
    Source,
)
from resilience.shared_state import SharingSettings

HOUR_S = 3600.0


def test_the_breaker_defaults_are_those_of_polly_pt_001() -> None:
    rules = BreakerSettings()
    assert (rules.failure_ratio, rules.minimum_throughput) == (0.1, 100)
    assert (rules.sampling_s, rules.break_s) == (30, 5)
    assert (rules.break_generator, rules.consecutive_failures) == (None, None)


def test_the_least_legal_breaker_is_accepted_pt_002() -> None:
    least = BreakerSettings(failure_ratio=0, minimum_throughput=2, sampling_s=0.5, break_s=0.5)
    rules = (least.failure_ratio, least.minimum_throughput, least.sampling_s, least.break_s)
    assert rules == (0, 2, 0.5, 0.5)


def test_all_that_is_wrong_with_a_breaker_is_said_at_once_pt_003() -> None:
    with pytest.raises(ValueError, match="minimum_throughput") as raised:
        BreakerSettings(failure_ratio=0, minimum_throughput=0, sampling_s=0, break_s=0.299)
    complaints = str(raised.value).splitlines()
    assert [line.split()[0] for line in complaints] == [
        "minimum_throughput",
        "sampling_s",
        "break_s",
    ]
    assert complaints[2] == "break_s must be in 0.5..86400, got 0.299; it is in seconds"


def test_all_that_is_wrong_with_retries_is_said_at_once_pt_051() -> None:
    with pytest.raises(ValueError, match="max_retries") as raised:
        RetrySettings(max_retries=-3, base_delay_s=-1, max_delay_s=-1)
    complaints = str(raised.value).splitlines()
    assert [line.split()[0] for line in complaints] == [
        "max_retries",
        "base_delay_s",
        "max_delay_s",
    ]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: BreakerSettings(failure_ratio=50), "failure_ratio must be in 0..1, got 50"),
        (lambda: BreakerSettings(failure_ratio=math.nan), "got nan"),
        (lambda: BreakerSettings(consecutive_failures=0), "consecutive_failures must be"),
        (lambda: BreakerSettings(trial_timeout_s=0), "trial_timeout_s must be"),
        (lambda: BreakerSettings(failure_ratio=None), "both None"),
        (lambda: RetrySettings(max_retries=0), "use retry=None"),
        (lambda: RetrySettings(max_retry_after_s=-1), "max_retry_after_s must be"),
        (lambda: RetrySettings(backoff="cubic"), "got 'cubic'"),  # type: ignore[arg-type]
        (lambda: RetrySettings(repeatable="all"), "got 'all'"),  # type: ignore[arg-type]
        (
            lambda: RetrySettings(repeat_non_idempotent_on={429, 404}),
            "repeat_non_idempotent_on may hold 408, 429 and 5xx, got 404, which is never retried",
        ),
        (
            lambda: RetrySettings(repeatable="any", repeat_non_idempotent_on={429}),
            "repeat_non_idempotent_on has no effect with repeatable='any'",
        ),
        (lambda: HedgeSettings(methods=()), "use hedge=None for none"),
        (lambda: HedgeSettings(methods=["get"]), "methods are in upper case, got 'get'"),
        (lambda: HedgeSettings(methods=["GET /"]), "method must be a word"),
        (lambda: RetryBudget(ratio=20), "ratio must be in 0..1, got 20"),
        (lambda: RetryBudget(window_s=0), "window_s must be"),
        (lambda: RateLimit.per_second(0), "use rate_limit=None"),
        (lambda: RateLimit.per_minute(10, burst=0), "burst must be"),
        (lambda: RateLimit.per_minute(10, max_wait_s=-1), "max_wait_s must be"),
        (lambda: RateLimit(permits=1, period_s=0), "period_s must be"),
        (lambda: BulkheadSettings(max_concurrent=0), "max_concurrent must be"),
        (lambda: BulkheadSettings(max_concurrent=1, max_queue=-1), "max_queue must be"),
        (lambda: Source(name="", base_url="http://x"), "name must not be empty"),
        (lambda: Source(name="x", base_url="127.0.0.1:80"), "absolute"),
        (lambda: Source(name="x", base_url="ftp://x"), "absolute"),
        (lambda: Source(name="x", base_url="http://x/?q=1"), "absolute"),
        (lambda: Source(name="x", base_url="http://x:port"), "absolute"),
    ],
)
def test_a_wrong_value_is_refused_with_the_value_or_the_next_step(
    build: Callable[[], Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=r".+") as raised:
        build()
    assert complaint in str(raised.value)


@pytest.mark.parametrize("limit_s", [-math.inf, 0, -1, 25 * HOUR_S, 0.009, math.nan])
@pytest.mark.parametrize("which", ["total_timeout_s", "attempt_timeout_s"])
def test_a_time_out_outside_10_ms_to_24_h_is_refused_pt_092(which: str, limit_s: float) -> None:
    with pytest.raises(ValueError, match=which):
        Policies(**{which: limit_s})  # type: ignore[arg-type]


@pytest.mark.parametrize("limit_s", [0.01, 1, HOUR_S])
def test_a_time_out_from_10_ms_to_24_h_is_accepted_pt_093(limit_s: float) -> None:
    policies = Policies(total_timeout_s=limit_s, attempt_timeout_s=limit_s)
    assert (policies.total_timeout_s, policies.attempt_timeout_s) == (limit_s, limit_s)


def test_time_outs_must_fit_each_other_and_the_window_pt_128() -> None:
    breaker = BreakerSettings(sampling_s=1.0)
    Policies(total_timeout_s=0.5, attempt_timeout_s=0.5, breaker=breaker)
    with pytest.raises(ValueError, match="attempt_timeout_s must be at most") as raised:
        Policies(total_timeout_s=0.5, attempt_timeout_s=0.6, breaker=breaker)
    assert len(str(raised.value).splitlines()) == 2


SETTINGS: tuple[tuple[type, dict[str, Any]], ...] = (
    (AdaptiveSettings, {}),
    (BreakerSettings, {}),
    (BulkheadSettings, {"max_concurrent": 5}),
    (Fallback, {"answer": lambda _request, _failure: None}),
    (HedgeSettings, {}),
    (Policies, {}),
    (RateLimit, {"permits": 5, "period_s": 1}),
    (RetryBudget, {}),
    (RetrySettings, {}),
    (SharingSettings, {}),
)


@pytest.mark.parametrize(
    "wrong",
    ["5", b"5", [[]], object(), 1j, Decimal(5), 10**400, math.nan],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(
    ("settings", "needed"), SETTINGS, ids=[settings.__name__ for settings, _ in SETTINGS]
)
def test_every_setting_of_the_wrong_kind_is_refused_by_its_name(
    settings: type, needed: dict[str, Any], wrong: object
) -> None:
    for field in fields(settings):
        if field.name == "prefix" and isinstance(wrong, str):
            continue  # the one setting that is any text
        with pytest.raises((TypeError, ValueError), match=field.name):
            settings(**{**needed, field.name: wrong})


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (
            lambda: RetrySettings(base_delay_s="5"),  # type: ignore[arg-type]
            "base_delay_s has the wrong type: got '5' (str); it is in seconds",
        ),
        (
            lambda: RetrySettings(max_retries=2.5),  # type: ignore[arg-type]
            "max_retries has the wrong type: got 2.5 (float); it is a whole number; use retry=None",
        ),
        (
            lambda: RetrySettings(repeat_non_idempotent_on=["429"]),  # type: ignore[list-item]
            "a status of repeat_non_idempotent_on has the wrong type: got '429' (str)",
        ),
        (
            lambda: RetrySettings(repeat_non_idempotent_on=429),  # type: ignore[arg-type]
            "repeat_non_idempotent_on has the wrong type: got 429 (int); write {429}, or ()",
        ),
        (
            lambda: HedgeSettings(methods="GET"),
            "methods has the wrong type: got 'GET' (str); write them like",
        ),
        (
            lambda: BreakerSettings(break_s=None),  # type: ignore[arg-type]
            "break_s has the wrong type: got None (NoneType); it is in seconds",
        ),
        (
            lambda: BulkheadSettings(max_concurrent=True),
            "max_concurrent has the wrong type: got True (bool)",
        ),
        (
            lambda: RetrySettings(jitter="no"),  # type: ignore[arg-type]
            "jitter has the wrong type: got 'no' (str); write True or False",
        ),
        (
            lambda: Fallback(answer=_answer, when=_answer),  # type: ignore[arg-type]
            "it is called without await; it returns True or False",
        ),
    ],
)
def test_a_wrong_kind_is_named_with_the_value_and_the_next_step(
    build: Callable[[], Any], complaint: str
) -> None:
    with pytest.raises(TypeError) as raised:
        build()
    assert complaint in str(raised.value)


async def _answer(_request: object, _failure: object) -> httpx.Response:
    return httpx.Response(200)


def test_settings_that_name_the_same_are_the_same_however_they_are_written() -> None:
    assert RetrySettings(repeat_non_idempotent_on=[503, 429]) == RetrySettings()
    hedges = [HedgeSettings(methods=["GET", "PUT"]), HedgeSettings(methods={"PUT", "GET"})]
    assert len(set(hedges)) == 1


def test_a_rate_so_low_that_its_interval_is_infinite_is_refused() -> None:
    with pytest.raises(ValueError, match="permits must be in 1e-06"):
        RateLimit.per_second(1e-310)
