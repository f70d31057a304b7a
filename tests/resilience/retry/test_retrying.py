"""Retries of functions that have nothing to do with HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    Call,
    Event,
    GaveUp,
    GaveUpReason,
    RetryBudget,
    Retrying,
    RetryLayer,
    RetryLedger,
    RetryScheduled,
    RetrySettings,
    Subscribers,
    UnwantedResult,
)
from tests.resilience.script import Script

pytestmark = pytest.mark.virtual_clock

EVENLY = RetrySettings(max_retries=2, base_delay_s=1, backoff="constant", jitter=False)
REFUSED = ConnectionRefusedError("no mail server")


class Mail:
    """A mail server: each attempt to send ends in the next outcome, the last one for ever."""

    def __init__(self, *outcomes: object, takes_s: float = 0) -> None:
        self.outcomes = list(outcomes)
        self.sent: list[tuple[str, str]] = []
        self.sent_at_s: list[float] = []
        self._takes_s = takes_s

    async def send(self, to: str, *, text: str) -> object:
        """Send a mail."""
        self.sent.append((to, text))
        self.sent_at_s.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._takes_s)
        outcome = self.outcomes[min(len(self.sent), len(self.outcomes)) - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def retrying(
    settings: RetrySettings = EVENLY,
    events: list[Event] | None = None,
    **rules: Any,  # noqa: ANN401
) -> Retrying:
    subscribers = Subscribers()
    if events is not None:
        subscribers.add(events.append)
    rules = {"on": ConnectionError, "random": Random(1), **rules}
    return Retrying(settings, name="mail", subscribers=subscribers, **rules)


async def sent_by(mail: Mail, retries: Retrying) -> object:
    return await retries(mail.send, "anna", text="hello")


@pytest.mark.parametrize(
    "on",
    [
        ConnectionError,
        (TimeoutError, ConnectionError),
        lambda error: "mail server" in str(error),
    ],
    ids=["class", "classes", "function"],
)
async def test_a_function_is_called_again_after_the_exceptions_that_are_named(on: object) -> None:
    mail = Mail(REFUSED, REFUSED, "sent")
    assert await sent_by(mail, retrying(on=on)) == "sent"
    assert mail.sent == [("anna", "hello")] * 3
    assert mail.sent_at_s == [0, 1, 2]


async def test_what_the_last_attempt_raised_is_raised() -> None:
    last = ConnectionResetError("the last")
    events: list[Event] = []
    with pytest.raises(ConnectionResetError) as raised:
        await sent_by(Mail(REFUSED, REFUSED, last), retrying(events=events))
    assert raised.value is last
    assert events == [
        RetryScheduled(source="mail", at_s=0, request_id=1, attempt=1, cause=REFUSED, delay_s=1),
        RetryScheduled(source="mail", at_s=1, request_id=1, attempt=2, cause=REFUSED, delay_s=1),
        GaveUp(
            source="mail",
            at_s=2,
            request_id=1,
            attempt=3,
            cause=last,
            reason=GaveUpReason.RETRIES_EXHAUSTED,
        ),
    ]


async def test_a_result_that_is_not_wanted_is_retried_and_the_last_one_returned() -> None:
    events: list[Event] = []
    retries = retrying(events=events, on=(), on_result=lambda result: result is None)
    assert await sent_by(Mail(None, "sent"), retries) == "sent"
    (scheduled,) = events
    assert isinstance(scheduled, RetryScheduled)
    assert isinstance(scheduled.cause, UnwantedResult)
    assert str(scheduled.cause) == "the function returned None; on_result says which are accepted"
    mail = Mail(None)
    assert await sent_by(mail, retries) is None
    assert len(mail.sent) == 3
    assert isinstance(events[-1], GaveUp)
    assert events[-1].request_id == 2


async def test_other_exceptions_pass_at_once_and_so_does_every_result() -> None:
    mail = Mail(LookupError("nobody of that name"))
    with pytest.raises(LookupError):
        await sent_by(mail, retrying())
    assert await sent_by(Mail(None), retrying()) is None
    assert len(mail.sent) == 1


@pytest.mark.parametrize(("takes_s", "attempts"), [(9.0, 1), (0.0, 2)])
async def test_a_cancelled_call_is_not_retried_and_its_grant_is_forgotten(
    takes_s: float, attempts: int
) -> None:
    mail = Mail(REFUSED, takes_s=takes_s)
    ledger = RetryLedger(RetryBudget())
    call = asyncio.create_task(sent_by(mail, retrying(on=Exception, ledger=ledger)))
    await asyncio.sleep(1.5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (len(mail.sent), ledger.waiting) == (attempts, 0)


async def test_a_budget_bounds_the_retries_of_all_calls_together() -> None:
    events: list[Event] = []
    budget = RetryBudget(ratio=0.5, min_per_s=0, window_s=60)
    settings = RetrySettings(max_retries=5, base_delay_s=0, budget=budget)
    retries = retrying(settings, events)
    mail = Mail(REFUSED)
    for _ in range(10):
        with pytest.raises(ConnectionRefusedError):
            await sent_by(mail, retries)
    assert len(mail.sent) == 15
    reasons = {event.reason for event in events if isinstance(event, GaveUp)}
    assert reasons == {GaveUpReason.SUPPRESSED_BY_BUDGET}


async def test_concurrent_calls_share_nothing_but_the_budget() -> None:
    mails = [Mail(REFUSED, REFUSED, "sent") for _ in range(3)]
    retries = retrying()
    assert await asyncio.gather(*(sent_by(mail, retries) for mail in mails)) == ["sent"] * 3
    assert [mail.sent_at_s for mail in mails] == [[0, 1, 2]] * 3


async def story_of(run: Callable[[Script], Awaitable[object]]) -> list[float]:
    """Play five calls that fail, a second between them; return when each attempt was sent."""
    began_s = asyncio.get_running_loop().time()
    sent_at_s: list[float] = []
    for _ in range(5):
        script = Script(httpx.ReadError("reset"))
        with pytest.raises(httpx.ReadError):
            await run(script)
        sent_at_s += [at_s - began_s for at_s in script.sent_at_s]
        await asyncio.sleep(1)
    return sent_at_s


def facts(event: Event) -> tuple[object, ...]:
    """Return what an event says, apart from when and of which call."""
    assert isinstance(event, RetryScheduled | GaveUp)
    what = event.delay_s if isinstance(event, RetryScheduled) else event.reason
    return (type(event), event.source, event.attempt, repr(event.cause), what)


@pytest.mark.parametrize("seed", range(5))
async def test_it_tells_the_story_that_the_layer_for_http_tells(seed: int) -> None:
    """Decisions, delays, jitter, budget and events are the same."""
    settings = RetrySettings(
        max_retries=3, base_delay_s=0.3, budget=RetryBudget(ratio=0.2, min_per_s=0.4)
    )
    by_itself: list[Event] = []
    of_layer: list[Event] = []
    subscribers = Subscribers()
    subscribers.add(of_layer.append)
    layer = RetryLayer(settings, random=Random(seed), subscribers=subscribers)
    alone = retrying(settings, by_itself, on=httpx.ReadError, random=Random(seed))
    sent_at_s = await story_of(lambda script: layer(Call("GET", script, source="mail")))
    assert await story_of(alone) == pytest.approx(sent_at_s)
    assert [facts(event) for event in by_itself] == [facts(event) for event in of_layer]
    assert len({type(event) for event in by_itself}) == 2


async def not_a_predicate(_error: Exception) -> bool:
    return True


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"on": asyncio.CancelledError}, "^on .*; name exceptions; a cancellation is not retried"),
        ({"on": (ConnectionError, 5)}, "^on .*got 5"),
        ({"on": "ConnectionError"}, "^on .*; name exceptions, or give a function that returns"),
        ({"on": not_a_predicate}, "^on .*it is called without await"),
        ({"on_result": None}, "^on_result .*; it returns True or False"),
        ({"random": None}, r"^random .*; make it a Random\(\)"),
        ({"settings": {}}, r"^settings .*; make them RetrySettings\(\.\.\.\)"),
    ],
)
def test_a_rule_of_the_wrong_kind_is_named(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        retrying(**rules)


async def test_what_is_no_coroutine_function_is_named_and_called_no_more_than_once() -> None:
    calls: list[str] = []

    def blocking(to: str) -> None:
        calls.append(to)

    with pytest.raises(TypeError, match=r"^what func returned .*must be a coroutine function"):
        await retrying(on=Exception)(blocking, "anna")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^func .*; give the function, and its arguments after it"):
        await retrying()(blocking("olga"))  # type: ignore[arg-type,func-returns-value]
    assert calls == ["anna", "olga"]
