"""Retries of any coroutine function, for calls other than HTTP."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from random import Random
from typing import Any, ParamSpec, TypeVar

from resilience._internal.backoff import seeded_anew_in_forks
from resilience._internal.checks import expect, expect_callable, expect_function, expect_subclass
from resilience.errors import UnwantedResult
from resilience.events import Event, GaveUp, GaveUpReason, RetryScheduled, Subscribers
from resilience.retry.budget import RetryLedger
from resilience.retry.settings import RetrySettings, next_step

P = ParamSpec("P")
T = TypeVar("T")

RetriedErrors = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
"""The exceptions after which to try again, or a function that returns whether to."""


def _never(_result: object) -> bool:
    return False


class Retrying:
    """Calls a coroutine function until it succeeds; the last result is returned or raised.

    `await Retrying(RetrySettings(), name="mail", on=ConnectionError, random=Random())(send, text)`
    is `await send(text)`, and again after a ConnectionError. One object serves any number of calls
    and functions, which share its budget. A cancellation is never retried.

    Decisions, delays, budget and events are those of `RetryLayer`, which is for HTTP. The settings
    for HTTP, `repeatable` and Retry-After, have no effect here: a function that is wrapped may be
    called twice. stamina is not used, and so neither are its hooks and switches.

    Args:
        settings: The rules.
        name: Of what is called, for events.
        on: Exception classes, or a function of an exception that returns whether to try again and
            must not raise. `()` for none.
        on_result: The same for what the function returned; by default no result is retried.
        random: Source of jitter; seeded anew in processes that are forked later.
        ledger: The budget's, shared with others; None opens one if the settings have a budget.
        subscribers: Notified of retries and of giving up; calls are numbered from 1.

    Raises:
        TypeError: A value is of the wrong kind.
    """

    def __init__(
        self,
        settings: RetrySettings,
        *,
        name: str,
        on: RetriedErrors,
        on_result: Callable[[Any], bool] = _never,
        random: Random,
        ledger: RetryLedger | None = None,
        subscribers: Subscribers | None = None,
    ) -> None:
        expect("settings", settings, RetrySettings, "make them RetrySettings(...)")
        expect("random", random, Random, "make it a Random()")
        expect_function("on_result", on_result, "it returns True or False")
        self.name = name
        self._settings = settings
        self._on = _predicate(on)
        self._on_result = on_result
        self._random = seeded_anew_in_forks(random)
        self._ledger = ledger
        if ledger is None and settings.budget is not None:
            self._ledger = RetryLedger(settings.budget)
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._request_ids = count(1)

    async def __call__(
        self, func: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what `func(*args, **kwargs)` returns, or raise what it raises, in the end.

        Raises:
            TypeError: `func` is not a coroutine function.
        """
        expect_callable("func", func, "give the function, and its arguments after it")
        call = _Call(next(self._request_ids), self._settings.delays_s(self._random))
        if self._ledger is not None:
            self._ledger.on_request()
        while True:
            awaitable = func(*args, **kwargs)
            expect("what func returned", awaitable, Awaitable, "func must be a coroutine function")
            try:
                result = await awaitable
            except Exception as error:
                if not self._on(error):
                    raise
                delay_s = self._next_delay_s(call, error)
                if delay_s is None:
                    raise
            else:
                if not self._on_result(result):
                    return result
                delay_s = self._next_delay_s(call, UnwantedResult(result))
                if delay_s is None:
                    return result
            await self._wait(delay_s)
            call.attempt += 1

    def _next_delay_s(self, call: "_Call", cause: Exception) -> float | None:
        """Return the seconds to wait for the next attempt, None to give up."""
        step = next_step(
            settings=self._settings,
            repeatable=True,
            failed_attempts=call.attempt,
            computed_delay_s=next(call.delays_s),
            asked_delay_s=None,
            time_left_s=math.inf,
        )
        if not isinstance(step, GaveUpReason) and not self._within_budget():
            step = GaveUpReason.SUPPRESSED_BY_BUDGET
        if isinstance(step, GaveUpReason):
            self._notify(call, GaveUp, cause=cause, reason=step)
            return None
        self._notify(call, RetryScheduled, cause=cause, delay_s=step)
        return step

    def _within_budget(self) -> bool:
        return self._ledger is None or self._ledger.grant()

    async def _wait(self, delay_s: float) -> None:
        """Wait for a granted retry; if the call is cancelled meanwhile, the retry never begins."""
        try:
            await asyncio.sleep(delay_s)
        except BaseException:
            if self._ledger is not None:
                self._ledger.forget()
            raise
        if self._ledger is not None:
            self._ledger.begin()

    def _notify(self, call: "_Call", kind: type[Event], **details: object) -> None:
        self._subscribers.notify(
            kind, source=self.name, request_id=call.request_id, attempt=call.attempt, **details
        )


class _Call:
    """One call: its number, its attempt under way, and the delays still to come."""

    __slots__ = ("attempt", "delays_s", "request_id")

    def __init__(self, request_id: int, delays_s: Iterator[float]) -> None:
        self.request_id = request_id
        self.attempt = 1
        self.delays_s = delays_s


def _predicate(on: RetriedErrors) -> Callable[[Exception], bool]:
    if not isinstance(on, type | tuple):
        expect_function("on", on, "name exceptions, or give a function that returns True or False")
        return on
    kinds = on if isinstance(on, tuple) else (on,)
    for kind in kinds:
        expect_subclass("on", kind, Exception, "name exceptions; a cancellation is not retried")
    return lambda error: isinstance(error, kinds)
