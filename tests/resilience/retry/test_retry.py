import asyncio

import httpx
import pytest
import stamina

from resilience import (
    AttemptStarted,
    AttemptTimeout,
    GaveUp,
    GaveUpReason,
    Policies,
    RetryScheduled,
    RetrySettings,
    TotalTimeout,
)
from tests.resilience.script import Script, Step, Told, response

pytestmark = pytest.mark.virtual_clock

AT_ONCE = RetrySettings(max_retries=3, base_delay_s=0)


def told_with(retry: RetrySettings, total_timeout_s: float | None = None) -> Told:
    return Told(Policies(retry=retry, total_timeout_s=total_timeout_s))


def loop_time_s() -> float:
    return asyncio.get_running_loop().time()


async def test_the_original_error_surfaces_after_the_last_retry_pt_071() -> None:
    errors = [httpx.ConnectError(f"refused {number}") for number in range(1, 5)]
    script = Script(*errors)
    with pytest.raises(httpx.ConnectError) as raised:
        await told_with(AT_ONCE).run(script)
    assert raised.value is errors[-1]
    assert script.requests == 4


async def test_a_transient_response_left_after_the_last_attempt_is_returned() -> None:
    told = told_with(AT_ONCE)
    assert (await told.run(Script(500, 502, 503, 504))).status_code == 504


async def test_a_retry_that_does_well_ends_the_call() -> None:
    script = Script(500, httpx.ReadError("reset"), 200)
    assert (await told_with(AT_ONCE).run(script)).status_code == 200
    assert script.requests == 3


@pytest.mark.parametrize("status", [200, 301, 404])
async def test_an_answer_is_not_tried_again(status: int) -> None:
    script = Script(status)
    assert (await told_with(AT_ONCE).run(script)).status_code == status
    assert script.requests == 1


async def test_an_error_that_is_not_transient_is_not_tried_again() -> None:
    script = Script(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        await told_with(AT_ONCE).run(script)
    assert script.requests == 1


async def test_retry_after_replaces_the_computed_delay_of_each_retry() -> None:
    told = told_with(RetrySettings(max_retries=3, base_delay_s=9))
    script = Script(response(429, {"retry-after": "2"}))
    await told.run(script)
    assert script.sent_at_s == pytest.approx([0, 2, 4, 6])
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [2, 2, 2]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("asked", ["0", "0.0", "000", "Sun, 29 Nov 2026 11:59:59 GMT"])
async def test_a_retry_after_that_asks_for_no_wait_leaves_the_computed_delay(
    asked: str, status: int
) -> None:
    retry = RetrySettings(max_retries=3, base_delay_s=1, jitter=False)
    script = Script(response(status, {"retry-after": asked}))
    await told_with(retry).run(script)
    assert script.sent_at_s == [0, 1, 3, 7]


async def test_a_computed_delay_of_zero_retries_at_once() -> None:
    script = Script(response(503, {"retry-after": "0"}), 200)
    await told_with(AT_ONCE).run(script)
    assert script.sent_at_s == [0, 0]


@pytest.mark.parametrize(("honoured", "second_at_s"), [(True, 2.0), (False, 9.0)])
async def test_retry_after_is_honoured_only_if_the_settings_say_so_pt_108(
    honoured: bool, second_at_s: float
) -> None:
    retry = RetrySettings(base_delay_s=9, jitter=False, honour_retry_after=honoured)
    script = Script(response(429, {"retry-after": "2"}), 200)
    await told_with(retry).run(script)
    assert script.sent_at_s == [0, second_at_s]


@pytest.mark.parametrize("status", [408, 429, 500, 503, 504])
@pytest.mark.parametrize("asked", ["29.57", "Sun, 29 Nov 2026 12:02:29 GMT"])
async def test_retry_after_is_honoured_on_every_status_that_is_retried(
    asked: str, status: int
) -> None:
    """By a server whose clock is two minutes ahead."""
    headers = {"retry-after": asked, "date": "Sun, 29 Nov 2026 12:02:00 GMT"}
    script = Script(response(status, headers), 200)
    await told_with(RetrySettings(base_delay_s=9)).run(script)
    assert script.sent_at_s == [0, 29.57 if "." in asked else 29]


@pytest.mark.parametrize("value", ["-5", "NaN", "1e9", "garbage", ""])
async def test_a_retry_after_that_makes_no_sense_leaves_the_computed_delay(value: str) -> None:
    script = Script(response(429, {"retry-after": value}), 200)
    await told_with(RetrySettings(base_delay_s=9, jitter=False)).run(script)
    assert script.sent_at_s == [0, 9]


async def test_a_retry_after_date_is_measured_from_the_wall_clock() -> None:
    headers = {"retry-after": "Sun, 29 Nov 2026 12:00:07 GMT"}
    script = Script(response(503, headers), 200)
    await told_with(RetrySettings(base_delay_s=9)).run(script)
    assert script.sent_at_s == [0, 7]


@pytest.mark.parametrize("asked_s", ["1", "2", "99999999999999999999"])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_retry_after_beyond_the_time_left_gives_up_at_once_with_the_response(
    asked_s: str, status: int
) -> None:
    told = told_with(RetrySettings(base_delay_s=0.01), total_timeout_s=1.0)
    left = await told.run(Script(response(status, {"retry-after": asked_s})))
    assert left.status_code == status
    assert loop_time_s() == 0
    (end,) = told.heard(GaveUp)
    assert (end.reason, end.cause) == (GaveUpReason.RETRY_AFTER_TOO_LONG, status)


async def test_a_retry_after_beyond_its_own_limit_gives_up_without_a_total_limit() -> None:
    told = told_with(RetrySettings(max_retry_after_s=60))
    assert (await told.run(Script(response(429, {"retry-after": "61"})))).status_code == 429
    assert loop_time_s() == 0


async def test_a_delay_that_would_reach_the_total_limit_is_not_begun() -> None:
    told = told_with(RetrySettings(base_delay_s=0.8, jitter=False), total_timeout_s=1.0)
    assert (await told.run(Script(500))).status_code == 500
    assert loop_time_s() == pytest.approx(0.8)
    (end,) = told.heard(GaveUp)
    assert (end.attempt, end.reason) == (2, GaveUpReason.NO_TIME_LEFT)


async def test_delays_and_attempt_numbers_are_told_before_each_retry_pt_075() -> None:
    retry = RetrySettings(max_retries=3, base_delay_s=2, backoff="linear", jitter=False)
    told = told_with(retry)
    await told.run(Script(500))
    scheduled = told.heard(RetryScheduled)
    assert [(event.attempt, event.delay_s) for event in scheduled] == [(1, 2), (2, 4), (3, 6)]


async def test_the_longest_delay_is_kept_to_pt_076() -> None:
    retry = RetrySettings(base_delay_s=2, backoff="linear", jitter=False, max_delay_s=0.123)
    told = told_with(retry)
    await told.run(Script(500))
    assert [event.delay_s for event in told.heard(RetryScheduled)] == [0.123] * 3


async def test_a_call_cancelled_before_it_begins_sends_nothing_pt_077() -> None:
    script = Script(200)
    task = asyncio.create_task(told_with(AT_ONCE).run(script))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert script.requests == 0


@pytest.mark.parametrize(
    ("script", "cancel_at_s", "requests"),
    [
        pytest.param(Script(9.0), 0.5, 1, id="in-the-first-attempt"),
        pytest.param(Script(500), 0.5, 1, id="PT-080-in-the-wait"),
        pytest.param(Script(500, 9.0), 2.5, 2, id="in-a-later-attempt"),
    ],
)
async def test_a_cancelled_call_ends_there_and_then(
    script: Script, cancel_at_s: float, requests: int
) -> None:
    told = told_with(RetrySettings(base_delay_s=2, jitter=False))
    task = asyncio.create_task(told.run(script))
    await asyncio.sleep(cancel_at_s)
    task.cancel("the caller")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop_time_s() == cancel_at_s
    assert script.requests == requests
    assert told.heard(GaveUp) == []


async def test_a_value_that_comes_in_spite_of_a_cancellation_is_returned_pt_079() -> None:
    async def stubborn() -> httpx.Response:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError:
            return response(200)
        return response(500)

    task = asyncio.create_task(told_with(AT_ONCE).pipeline.run(stubborn))
    await asyncio.sleep(0.1)
    task.cancel()
    assert (await task).status_code == 200


@pytest.mark.parametrize(
    ("method", "requests"),
    [
        pytest.param("POST", 1, id="PT-113"),
        pytest.param("DELETE", 1, id="PT-114"),
        pytest.param("PUT", 1, id="PT-115"),
        pytest.param("GET", 4, id="PT-118"),
        ("PATCH", 1),
        ("CONNECT", 1),
        ("PURGE", 1),
        ("HEAD", 4),
        ("QUERY", 4),
        ("OPTIONS", 4),
    ],
)
async def test_unsafe_methods_are_not_retried_if_the_settings_say_so(
    method: str, requests: int
) -> None:
    script = Script(500)
    told = told_with(RetrySettings(max_retries=3, base_delay_s=0, repeatable="safe"))
    assert (await told.run(script, method)).status_code == 500
    assert script.requests == requests
    reason = GaveUpReason.UNSAFE_METHOD if requests == 1 else GaveUpReason.RETRIES_EXHAUSTED
    assert [event.reason for event in told.heard(GaveUp)] == [reason]


READ_ERROR = httpx.ReadError("reset")


@pytest.mark.parametrize(
    ("method", "first", "requests"),
    [
        ("POST", 429, 2),
        ("POST", 503, 2),
        ("POST", httpx.ConnectError("refused"), 2),
        ("POST", httpx.ConnectTimeout("silent"), 2),
        ("POST", 500, 1),
        ("POST", 408, 1),
        ("POST", READ_ERROR, 1),
        ("POST", 1.0, 1),
        ("PATCH", 500, 1),
        ("PUT", 500, 2),
        ("DELETE", READ_ERROR, 2),
        ("GET", 408, 2),
        ("HEAD", 500, 2),
        ("OPTIONS", 1.0, 2),
    ],
)
async def test_by_default_a_request_is_repeated_only_if_that_does_no_harm(
    method: str, first: Step, requests: int
) -> None:
    told = Told(Policies(retry=AT_ONCE, attempt_timeout_s=0.3))
    script = Script(first, 200)
    await asyncio.gather(told.run(script, method), return_exceptions=True)
    assert script.requests == requests
    assert [event.reason for event in told.heard(GaveUp)] == (
        [GaveUpReason.UNSAFE_METHOD] if requests == 1 else []
    )


async def test_an_idempotency_key_makes_any_method_repeatable() -> None:
    script = Script(500, READ_ERROR, 200)
    told = told_with(AT_ONCE)
    response = await told.pipeline.run(script, method="POST", idempotency_key=True)
    assert (response.status_code, script.requests) == (200, 3)


async def test_every_method_is_repeated_if_the_settings_say_so() -> None:
    script = Script(500)
    await told_with(RetrySettings(base_delay_s=0, repeatable="any")).run(script, "POST")
    assert script.requests == 4


async def test_the_total_limit_cuts_a_wait_or_an_attempt_and_tells_its_limit() -> None:
    told = Told(Policies(total_timeout_s=1.0, retry=AT_ONCE, attempt_timeout_s=0.4))
    script = Script(9.0)
    with pytest.raises(TotalTimeout) as raised:
        await told.run(script)
    assert raised.value.limit_s == 1.0
    assert script.sent_at_s == pytest.approx([0, 0.4, 0.8])
    (end,) = told.heard(GaveUp)
    assert (end.attempt, end.reason, end.cause) == (3, GaveUpReason.TOTAL_TIMEOUT, raised.value)
    assert len(told.heard(AttemptStarted)) == 3


async def test_an_attempt_that_takes_too_long_is_tried_again() -> None:
    told = Told(Policies(retry=AT_ONCE, attempt_timeout_s=0.3))
    script = Script(9.0, 200)
    assert (await told.run(script)).status_code == 200
    assert script.sent_at_s == pytest.approx([0, 0.3])
    (scheduled,) = told.heard(RetryScheduled)
    assert isinstance(scheduled.cause, AttemptTimeout)


async def test_staminas_mode_for_tests_leaves_the_waits_out() -> None:
    script = Script(500, 500, 200)
    with stamina.set_testing(True, attempts=3):
        assert (await told_with(RetrySettings()).run(script)).status_code == 200
    assert script.sent_at_s == [0, 0, 0]


async def test_the_same_seed_repeats_the_same_waits() -> None:
    waits = []
    for _ in range(2):
        told = Told(Policies(retry=RetrySettings()), seed=7)
        await told.run(Script(500))
        waits.append([event.delay_s for event in told.heard(RetryScheduled)])
    assert waits[0] == waits[1]
    assert len(set(waits[0])) == 3
