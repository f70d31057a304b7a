import asyncio
from random import Random

import httpx
import pytest

from resilience import (
    AttemptStarted,
    AttemptTimeout,
    BreakerSettings,
    CircuitOpen,
    Fallback,
    FallbackFailed,
    FallbackUsed,
    Policies,
    ResilientClient,
    ResponseTooLarge,
    RetrySettings,
    Source,
    TotalTimeout,
)
from resilience.fallback import Answer, Failure
from tests.resilience.script import Script, Step, Told, response

pytestmark = pytest.mark.virtual_clock

RESET = httpx.ReadError("reset")


def kept(_request: httpx.Request, _failure: Failure) -> httpx.Response:
    return response(203)


async def kept_elsewhere(request: httpx.Request, failure: Failure) -> httpx.Response:
    await asyncio.sleep(0.1)
    return kept(request, failure)


async def too_late(request: httpx.Request, failure: Failure) -> httpx.Response:
    await asyncio.sleep(9)
    return kept(request, failure)


def broken(_request: httpx.Request, _failure: Failure) -> httpx.Response:
    raise KeyError("nothing kept")


def no_response(_request: httpx.Request, _failure: Failure) -> httpx.Response:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    "step",
    [500, 503, 408, 429, RESET, httpx.UnsupportedProtocol("ftp"), ResponseTooLarge(9), 1.0],
    ids=repr,
)
@pytest.mark.parametrize("answer", [kept, kept_elsewhere])
async def test_a_call_that_failed_is_answered_by_the_fallback(step: Step, answer: Answer) -> None:
    told = Told(Policies(fallback=Fallback(answer=answer), attempt_timeout_s=0.5))
    assert (await told.run(Script(step))).status_code == 203
    (used,) = told.heard(FallbackUsed)
    assert (used.source, used.attempt, used.status) == ("rates", 1, 203)
    assert used.cause is step or used.cause == step or isinstance(used.cause, AttemptTimeout)


@pytest.mark.parametrize("step", [200, 301, 404, 422])
async def test_an_answer_needs_no_fallback(step: int) -> None:
    told = Told(Policies(fallback=Fallback(answer=kept)))
    assert (await told.run(Script(step))).status_code == step
    assert told.heard(FallbackUsed) == []


async def test_a_bug_of_the_callers_is_not_covered_up() -> None:
    with pytest.raises(ValueError, match="a bug"):
        await Told(Policies(fallback=Fallback(answer=kept))).run(Script(ValueError("a bug")))


async def test_it_stands_outside_all_other_policies() -> None:
    told = Told(
        Policies(
            fallback=Fallback(answer=kept),
            total_timeout_s=1.0,
            retry=RetrySettings(max_retries=2, base_delay_s=0),
            breaker=BreakerSettings(failure_ratio=None, consecutive_failures=2),
        )
    )
    script = Script(500)
    assert (await told.run(script)).status_code == 203
    assert (script.requests, told.pipeline.layers[0]) == (2, "FallbackLayer")
    await told.run(Script(9.0))
    await asyncio.sleep(5)
    await told.run(Script(9.0))
    kinds = [type(event.cause) for event in told.heard(FallbackUsed)]
    assert kinds == [CircuitOpen, CircuitOpen, TotalTimeout]


async def test_which_failures_it_answers_is_the_callers_choice() -> None:
    def not_found(failure: Failure) -> bool:
        return isinstance(failure, httpx.Response) and failure.status_code == 404

    told = Told(Policies(fallback=Fallback(answer=kept, when=not_found)))
    assert (await told.run(Script(404))).status_code == 203
    assert (await told.run(Script(500))).status_code == 500
    with pytest.raises(httpx.ReadError):
        await told.run(Script(RESET))


async def cancelled_by_itself(_request: httpx.Request, _failure: Failure) -> httpx.Response:
    lost: asyncio.Future[httpx.Response] = asyncio.get_running_loop().create_future()
    lost.cancel()
    return await lost


@pytest.mark.parametrize("answer", [broken, too_late, no_response, cancelled_by_itself])
async def test_when_the_fallback_fails_too_the_original_error_is_raised_with_a_note(
    answer: Answer,
) -> None:
    told = Told(Policies(fallback=Fallback(answer=answer, limit_s=0.2)))
    error = httpx.ReadError("reset")
    with pytest.raises(httpx.ReadError) as raised:
        await told.run(Script(error))
    assert raised.value is error
    assert "the fallback failed too" in raised.value.__notes__[0]
    (failed,) = told.heard(FallbackFailed)
    assert failed.cause is error
    assert asyncio.get_running_loop().time() <= 0.2


async def test_when_the_fallback_fails_too_the_original_response_is_returned() -> None:
    told = Told(Policies(fallback=Fallback(answer=broken)))
    assert (await told.run(Script(503))).status_code == 503
    (failed,) = told.heard(FallbackFailed)
    assert (failed.cause, repr(failed.error)) == (503, "KeyError('nothing kept')")


async def cancelled_too(request: httpx.Request, failure: Failure) -> httpx.Response:
    """Pass a cancellation of the caller's on to what is awaited, as a task group does."""
    inner = asyncio.create_task(asyncio.sleep(9))
    await inner
    return kept(request, failure)


async def test_a_cancelled_call_needs_no_answer_nor_does_a_cancelled_fallback_give_one() -> None:
    for script, answer in (
        (Script(9.0), too_late),
        (Script(500), too_late),
        (Script(500), cancelled_too),
    ):
        told = Told(Policies(fallback=Fallback(answer=answer, limit_s=60)))
        call = asyncio.create_task(told.run(script))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert len(told.heard(AttemptStarted)) == 1
        assert not told.heard(FallbackUsed)
        assert not told.heard(FallbackFailed)


async def test_it_sees_the_request_and_its_response_carries_it() -> None:
    def by_path(request: httpx.Request, failure: Failure) -> httpx.Response:
        assert isinstance(failure, httpx.Response)
        return httpx.Response(200, json={"path": request.url.path, "was": failure.text})

    transport = httpx.MockTransport(lambda _request: httpx.Response(503, text="closed"))
    source = Source(
        name="rates", base_url="http://rates", policies=Policies(fallback=Fallback(answer=by_path))
    )
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        answer = await client.get("rates", "/rates/USD")
    assert answer.raise_for_status().json() == {"path": "/rates/USD", "was": "closed"}


async def test_without_a_request_it_sees_one_of_the_method() -> None:
    seen: list[httpx.Request] = []

    def note(request: httpx.Request, _failure: Failure) -> httpx.Response:
        seen.append(request)
        return response(200)

    await Told(Policies(fallback=Fallback(answer=note))).run(Script(500), "PUT")
    assert [request.method for request in seen] == ["PUT"]


def test_a_fallback_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match=r"limit_s must be in 0\.01\.\.86400, got 0"):
        Fallback(answer=kept, limit_s=0)
