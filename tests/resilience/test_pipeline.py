import asyncio
from dataclasses import replace

import httpx
import pytest

from resilience import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimeout,
    BreakerSettings,
    BulkheadSettings,
    CallEnded,
    CallRejected,
    CallStarted,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpen,
    CircuitOpened,
    GaveUp,
    GaveUpReason,
    Policies,
    ResponseTooLarge,
    RetryBudget,
    RetryScheduled,
    RetrySettings,
    StaleConnection,
    TotalTimeout,
)
from tests.resilience.script import Script, Step, Told

pytestmark = pytest.mark.virtual_clock

RATES = Policies(
    total_timeout_s=1.0,
    retry=RetrySettings(max_retries=2, base_delay_s=0.05, jitter=False),
    breaker=BreakerSettings(failure_ratio=0.5, minimum_throughput=10, sampling_s=5.0, break_s=5.0),
    attempt_timeout_s=0.3,
)
IN_A_ROW = BreakerSettings(failure_ratio=None, consecutive_failures=1)
TWICE = BreakerSettings(failure_ratio=None, consecutive_failures=2)
AT_ONCE = RetrySettings(max_retries=2, base_delay_s=0)


def test_the_layers_stand_in_their_order() -> None:
    assert Told(RATES).pipeline.layers == (
        "TotalTimeoutLayer",
        "RetryLayer",
        "AdmissionLayer",
        "AttemptLayer",
    )
    assert Told(Policies()).pipeline.layers == ("AttemptLayer",)


async def test_without_policies_a_call_is_one_bare_attempt() -> None:
    script = Script(503)
    told = Told(Policies())
    assert (await told.run(script)).status_code == 503
    assert script.requests == 1
    assert told.pipeline.breaker is None


@pytest.mark.parametrize(
    ("base_delay_s", "error", "ended_at_s"),
    [(0.02, AttemptTimeout, 0.96), (0.05, TotalTimeout, 1.0)],
)
async def test_a_slow_source_is_tried_as_often_as_the_whole_limit_has_room_for(
    base_delay_s: float, error: type[Exception], ended_at_s: float
) -> None:
    retry = RetrySettings(max_retries=2, base_delay_s=base_delay_s, jitter=False)
    told = Told(Policies(total_timeout_s=1.0, retry=retry, attempt_timeout_s=0.3))
    script = Script(0.5)
    with pytest.raises(error):
        await told.run(script)
    assert script.requests == 3
    assert asyncio.get_running_loop().time() == pytest.approx(ended_at_s)


async def test_an_open_circuit_sends_nothing_until_its_break_is_over() -> None:
    told = Told(RATES)
    script = Script(500)
    for _ in range(5):
        await asyncio.gather(told.run(script), return_exceptions=True)
    assert script.requests == 10  # the tenth opens it; three calls of three attempts and one
    with pytest.raises(CircuitOpen):
        await told.run(script)
    await asyncio.sleep(5)
    assert (await told.run(Script(200))).status_code == 200


async def test_a_circuit_that_opens_between_attempts_ends_the_call() -> None:
    told = Told(Policies(retry=RetrySettings(max_retries=2, base_delay_s=0), breaker=IN_A_ROW))
    script = Script(500)
    with pytest.raises(CircuitOpen) as raised:
        await told.run(script)
    assert script.requests == 1
    assert (raised.value.retry_after_s, raised.value.cause) == (5.0, 500)
    assert [type(event) for event in told.events] == [
        CallStarted,
        AttemptStarted,
        AttemptFailed,
        CircuitOpened,
        RetryScheduled,
        CallRejected,
        CallEnded,
    ]
    assert told.events[-2] == CallRejected(
        source="rates", at_s=0, request_id=1, attempt=2, retry_after_s=5.0
    )


@pytest.mark.parametrize(
    ("step", "state"),
    [
        (500, "open"),
        (408, "open"),
        (429, "half-open"),
        (httpx.ConnectError("refused"), "open"),
        (httpx.ReadError("reset"), "open"),
        (1.0, "open"),
        (StaleConnection("closed"), "half-open"),
        (httpx.UnsupportedProtocol("ftp"), "half-open"),
        (ValueError("a bug of ours"), "half-open"),
        (ResponseTooLarge(10), "closed"),
        (httpx.DecodingError("not gzip"), "closed"),
        (404, "closed"),
        (301, "closed"),
        (200, "closed"),
    ],
    ids=repr,
)
async def test_what_a_trial_ends_in_decides_the_circuit(step: Step, state: str) -> None:
    told = Told(Policies(breaker=IN_A_ROW, attempt_timeout_s=0.3))
    await told.run(Script(500))
    await asyncio.sleep(5)
    await asyncio.gather(told.run(Script(step)), return_exceptions=True)
    assert told.pipeline.breaker is not None
    assert told.pipeline.breaker.state == state


async def test_a_429_is_a_failure_if_the_settings_say_so() -> None:
    strict = BreakerSettings(failure_ratio=None, consecutive_failures=1, counts_429=True)
    told = Told(Policies(breaker=strict))
    await told.run(Script(429))
    assert told.pipeline.breaker is not None
    assert told.pipeline.breaker.state == "open"


async def test_a_cancelled_call_is_no_failure_and_gives_its_trial_back_pt_123() -> None:
    told = Told(Policies(breaker=IN_A_ROW))
    await told.run(Script(500))
    await asyncio.sleep(5)
    trial = asyncio.create_task(told.run(Script(9.0)))
    await asyncio.sleep(0.1)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert (await told.run(Script(200))).status_code == 200
    assert len(told.heard(AttemptCancelled)) == 1
    assert [type(event) for event in told.events if "Circuit" in type(event).__name__] == [
        CircuitOpened,
        CircuitHalfOpened,
        CircuitClosed,
    ]


async def test_an_attempt_cut_short_by_the_total_limit_is_neutral_to_the_breaker() -> None:
    told = Told(Policies(total_timeout_s=0.5, attempt_timeout_s=0.3, retry=AT_ONCE, breaker=TWICE))
    with pytest.raises(TotalTimeout):
        await told.run(Script(9.0, 9.0))  # one attempt of 0.3 s, one of 0.2 s
    assert told.pipeline.breaker is not None
    assert told.pipeline.breaker.state == "closed"
    assert len(told.heard(AttemptCancelled)) == 1


@pytest.mark.parametrize("attempt_timeout_s", [None, 0.2])
async def test_an_attempt_that_took_all_of_the_total_limit_is_a_time_out_to_the_breaker(
    attempt_timeout_s: float | None,
) -> None:
    told = Told(
        Policies(total_timeout_s=0.2, attempt_timeout_s=attempt_timeout_s, breaker=IN_A_ROW)
    )
    with pytest.raises(TotalTimeout):
        await told.run(Script(9.0))
    assert told.pipeline.breaker is not None
    assert told.pipeline.breaker.state == "open"
    assert isinstance(told.pipeline.breaker.last_cause, AttemptTimeout)


async def test_a_call_less_patient_than_its_source_says_nothing_about_it() -> None:
    told = Told(Policies(total_timeout_s=1, attempt_timeout_s=1, breaker=IN_A_ROW))
    with pytest.raises(TotalTimeout):
        await told.pipeline.run(Script(9.0), overrides={"total_timeout_s": 0.1})
    assert told.pipeline.breaker is not None
    assert told.pipeline.breaker.state == "closed"


async def test_the_story_of_a_call_is_told_in_order() -> None:
    told = Told(RATES)
    await told.run(Script(503, httpx.ConnectError("refused"), 200))
    kinds = [type(event) for event in told.events]
    assert kinds == [
        CallStarted,
        AttemptStarted,
        AttemptFailed,
        RetryScheduled,
        AttemptStarted,
        AttemptFailed,
        RetryScheduled,
        AttemptStarted,
        AttemptSucceeded,
        CallEnded,
    ]
    assert told.heard(RetryScheduled)[0] == RetryScheduled(
        source="rates", at_s=0.0, request_id=1, attempt=1, cause=503, delay_s=0.05
    )
    assert [event.attempt for event in told.heard(AttemptStarted)] == [1, 2, 3]
    assert [event.at_s for event in told.heard(AttemptStarted)] == pytest.approx([0, 0.05, 0.15])


async def test_every_call_is_told_from_its_beginning_to_what_it_ended_in() -> None:
    told = Told(Policies(attempt_timeout_s=0.3))
    await told.run(Script(404), "PUT")
    await asyncio.gather(told.run(Script(1.0)), return_exceptions=True)
    cut = asyncio.create_task(told.run(Script(0.2)))
    await asyncio.sleep(0.1)
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    assert [event.method for event in told.heard(CallStarted)] == ["PUT", "GET", "GET"]
    answered, failed, cancelled = [event.outcome for event in told.heard(CallEnded)]
    assert answered == 404
    assert isinstance(failed, AttemptTimeout)
    assert isinstance(cancelled, asyncio.CancelledError)


async def test_the_first_attempt_that_does_well_is_reported_with_its_duration_pt_082() -> None:
    told = Told(RATES)
    await told.run(Script(404))
    (event,) = told.heard(AttemptSucceeded)
    assert (event.attempt, event.status) == (1, 404)
    assert 0 < event.duration_s < 1


async def test_every_failed_attempt_is_reported_and_the_last_gives_up_pt_083() -> None:
    told = Told(RATES)
    await told.run(Script(500, 502, 503))
    assert [event.cause for event in told.heard(AttemptFailed)] == [500, 502, 503]
    (end,) = told.heard(GaveUp)
    assert (end.attempt, end.cause, end.reason) == (3, 503, GaveUpReason.RETRIES_EXHAUSTED)
    assert told.events[-2] is end


async def test_attempts_started_are_those_succeeded_failed_and_cancelled() -> None:
    told = Told(RATES)
    for script in (Script(500, 200), Script(0.5), Script(404), Script(0.1, httpx.ReadError("x"))):
        await asyncio.gather(told.run(script), return_exceptions=True)
    cut = asyncio.create_task(told.run(Script(0.2)))
    await asyncio.sleep(0.1)
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    ended = [len(told.heard(kind)) for kind in (AttemptSucceeded, AttemptFailed, AttemptCancelled)]
    assert len(told.heard(AttemptStarted)) == sum(ended)
    assert min(ended) > 0


async def test_a_handler_that_fails_is_logged_and_disturbs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told(RATES)

    def broken(_event: object) -> None:
        raise ValueError("a broken handler")

    told.subscribers.add(broken)
    assert (await told.run(Script(200))).status_code == 200
    assert "a broken handler" in caplog.text


async def test_a_break_generator_that_raises_costs_its_call_no_slot_and_no_answer() -> None:
    told = Told(
        Policies(
            bulkhead=BulkheadSettings(max_concurrent=1),
            breaker=replace(IN_A_ROW, break_generator=lambda _trip: 1 / 0),
        )
    )
    assert (await told.run(Script(500))).status_code == 500
    assert told.pipeline.bulkhead is not None
    assert told.pipeline.bulkhead.running == 0


async def test_calls_that_bring_a_budget_of_their_own_do_not_fill_memory() -> None:
    told = Told(Policies())
    for tenth in range(1, 1_001):
        retry = RetrySettings(budget=RetryBudget(window_s=tenth / 10 + 1))
        await told.pipeline.run(Script(200), overrides={"retry": retry})
    assert len(told.pipeline._guards.ledgers) <= 64
