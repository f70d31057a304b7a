"""The race between an attempt and the hedges that are sent against it."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

import httpx

from resilience._internal.outcome import TRANSIENT_ERRORS, is_transient_status
from resilience._internal.tasks import cancel_and_wait
from resilience._internal.timing import Deadlines
from resilience.call import Call, Layer
from resilience.events import HedgeResult

_Chosen = TypeVar("_Chosen", httpx.Response, httpx.Response | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRules:
    """How a layer sends hedges.

    Attributes:
        attempt: Runs one attempt; a hedge gets a copy of the call.
        max_hedges: How many hedges a race may have.
        on_start: Called for each hedge, in its own task, before it is admitted; numbered from 1.
        on_end: Called with the `results` of a race with hedges.
    """

    attempt: Layer
    max_hedges: int
    on_start: Callable[[Call, int], None]
    on_end: Callable[[Call, Iterator[HedgeResult]], None]


class Race:
    """The first attempt of a call and its hedges; `run` it once.

    The first attempt runs in the task that awaits `run`. A hedge that wins cancels it through
    that task, and takes the request back when it has arrived, as `TimeLimit` does: the common
    call, answered before its hedge is due, costs a place among the deadlines and no task.

    Args:
        rules: What all races of a layer share.
        call: What is asked.
        delay_s: Between the sending of an attempt, the first or a hedge, and the next hedge, in
            seconds.
        due: The deadlines of races with this delay.

    Attributes:
        deadline_s: When the next hedge is due, on the event loop's clock.
    """

    __slots__ = (
        "_call",
        "_cancelling",
        "_context",
        "_delay_s",
        "_due",
        "_first_is_running",
        "_hedged_answer",
        "_hedges",
        "_interrupted",
        "_returned",
        "_rules",
        "_task",
        "deadline_s",
    )

    def __init__(self, rules: RaceRules, call: Call, delay_s: float, due: Deadlines) -> None:
        self._rules = rules
        self._call = call
        self._delay_s = delay_s
        self._due = due
        self._hedges: tuple[_Hedge, ...] = ()

    async def run(self) -> httpx.Response:
        """Return the winner's answer, or what the first attempt ended in, once all are over."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a race needs a task to run in; await it from a coroutine")
        self._task = task
        self._cancelling = task.cancelling()
        self._context = copy_context()
        call = self._call
        call.sent_at_s = now_s = loop.time()
        call.sent_listener = self
        self.deadline_s = now_s + self._delay_s
        self._due.add(self, loop)
        try:
            try:
                first = await self._rules.attempt(call)
            finally:
                self._due.remove(self)
                call.sent_listener = None
        except BaseException as error:
            if not self._hedges:
                raise
            self._first_ended()
            instead = await self._end(self._instead_of_error(error))
            if instead is None:
                raise
            return instead
        if not self._hedges:
            return first
        self._first_ended()
        return await self._end(self._instead_of_failure(first))

    def results(self) -> Iterator[HedgeResult]:
        """Yield what became of each hedge that started, in order; the last may not have."""
        for hedge in self._hedges:
            if not hedge.started:
                continue
            if hedge.failed:
                yield HedgeResult.FAILED
            elif hedge.answer is not None and hedge.answer is self._returned:
                yield HedgeResult.WON
            else:
                yield HedgeResult.CANCELLED

    def expire(self) -> None:
        """Send a hedge: it is due, and the attempt has had no response."""
        if self._task.cancelling() > self._cancelling:
            return  # the caller has cancelled, or a hedge has won
        latest = self._hedges[-1].call if self._hedges else self._call
        if latest.sent_at_s == math.inf:
            return  # a hedge would wait behind it; `on_sent` follows when it is sent
        if not self._hedges:
            self._expect_hedges()
        hedge = _Hedge(len(self._hedges) + 1, copy(self._call))
        self._hedges += (hedge,)
        # In the call's context as it was before the first attempt: a hedge is not part of that one.
        create_task = self._task.get_loop().create_task
        hedge.task = self._context.run(create_task, self._run_hedge(hedge))

    def on_sent(self) -> None:
        """Let the next hedge be due `delay_s` from now, if there may be one."""
        if len(self._hedges) < self._rules.max_hedges:
            loop = self._task.get_loop()
            self._due.remove(self)
            self.deadline_s = loop.time() + self._delay_s
            self._due.add(self, loop)

    def _expect_hedges(self) -> None:
        """Set what only a race with hedges needs: most have none."""
        self._first_is_running = True
        self._interrupted = False
        self._hedged_answer: httpx.Response | None = None
        self._returned: httpx.Response | None = None

    def _first_ended(self) -> None:
        self._first_is_running = False
        for hedge in self._hedges:
            hedge.call.sent_listener = None
        if self._interrupted:
            self._interrupted = False
            self._task.uncancel()

    async def _instead_of_error(self, error: BaseException) -> httpx.Response | None:
        if isinstance(error, asyncio.CancelledError):
            left_by_caller = self._task.cancelling() > self._cancelling
            return None if left_by_caller else self._hedged_answer
        return await self._wait_for_hedges() if isinstance(error, TRANSIENT_ERRORS) else None

    async def _instead_of_failure(self, first: httpx.Response) -> httpx.Response:
        if not is_transient_status(first.status_code):
            return first
        try:
            hedged = await self._wait_for_hedges()
        except BaseException:
            await first.aclose()
            raise
        if hedged is None:
            return first
        await first.aclose()
        return hedged

    async def _wait_for_hedges(self) -> httpx.Response | None:
        while self._hedged_answer is None:
            pending = [hedge.task for hedge in self._hedges if not hedge.task.done()]
            if not pending:
                break
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        return self._hedged_answer

    async def _run_hedge(self, hedge: "_Hedge") -> None:
        hedge.started = True
        hedge.call.let_go(self._task.get_loop().time())
        self._rules.on_start(self._call, hedge.number)
        try:
            answer = await self._rules.attempt(hedge.call)
        except Exception:  # noqa: BLE001 - whatever it is, the first attempt decides
            hedge.failed = True
            if hedge.call.sent_at_s == math.inf:  # refused: the next need not wait for it
                hedge.call.let_go(self._task.get_loop().time())
            return
        hedge.answer = answer
        hedge.failed = is_transient_status(answer.status_code)
        if hedge.failed or self._hedged_answer is not None:
            return
        self._hedged_answer = answer
        if self._first_is_running:
            self._interrupted = True
            self._task.cancel()

    async def _end(self, choice: Coroutine[None, None, _Chosen]) -> _Chosen:
        """Return what is chosen once all hedges are over and the losers' answers are closed."""
        try:
            try:
                chosen = self._returned = await choice
            finally:
                await self._end_hedges()
        except BaseException:
            unwanted, self._returned = self._returned, None
            if unwanted is not None:
                await unwanted.aclose()
            raise
        finally:
            self._rules.on_end(self._call, self.results())
        return chosen

    async def _end_hedges(self) -> None:
        try:
            await cancel_and_wait(hedge.task for hedge in self._hedges)
        finally:  # a cancelled hedge may have answered all the same
            for hedge in self._hedges:
                if hedge.answer is not None and hedge.answer is not self._returned:
                    await hedge.answer.aclose()


class _Hedge:
    """One hedge: its task, and what it has come to."""

    __slots__ = ("answer", "call", "failed", "number", "started", "task")

    task: asyncio.Task[None]

    def __init__(self, number: int, call: Call) -> None:
        self.answer: httpx.Response | None = None
        self.failed = False
        self.started = False
        self.number = number
        self.call = call
