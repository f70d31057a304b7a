"""The race between an attempt and the hedges that are sent against it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from copy import copy

import httpx

from resilience.call import Call, Layer
from resilience.events import HedgeResult
from resilience.outcome import TRANSIENT_ERRORS, is_transient_status
from resilience.tasks import cancel_and_wait


class Race:
    """The first attempt of a call and its hedges; `run` it once.

    The first attempt runs in the task that built the race. A hedge that wins cancels it through
    that task, and takes the request back when it has arrived, as `TimeLimit` does: the common
    call, answered before its hedge is due, costs a timer and no task.

    Args:
        attempt: Runs one attempt; a hedge gets a copy of the call.
        call: What is asked.
        delay_s: Before the first hedge and between hedges, in seconds.
        max_hedges: How many there may be.
        on_start: Told of each hedge, in its own task, with its number, from 1.
    """

    def __init__(
        self,
        attempt: Layer,
        call: Call,
        *,
        delay_s: float,
        max_hedges: int,
        on_start: Callable[[Call, int], None],
    ) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a race needs a task to run in; await it from a coroutine")
        self._attempt = attempt
        self._call = call
        self._delay_s = delay_s
        self._max_hedges = max_hedges
        self._on_start = on_start
        self._task = task
        self._cancelling = task.cancelling()
        self._hedges: list[_Hedge] = []
        self._first_is_running = True
        self._interrupted = False
        self._hedged_answer: httpx.Response | None = None
        self._returned: httpx.Response | None = None

    async def run(self) -> httpx.Response:
        """Return the winner's answer, or what the first attempt ended in, once all are over."""
        self._set_timer()
        try:
            answer = await self._decide()
        except BaseException:
            await self._end_hedges(None)
            raise
        if self._hedges:
            await self._end_hedges_and_keep(answer)
        return answer

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

    async def _decide(self) -> httpx.Response:
        try:
            first = await self._attempt(self._call)
        except asyncio.CancelledError:
            self._first_ended()
            if self._hedged_answer is None or self._task.cancelling() > self._cancelling:
                raise
            return self._hedged_answer
        except TRANSIENT_ERRORS:
            self._first_ended()
            hedged = await self._wait_for_hedges()
            if hedged is None:
                raise
            return hedged
        finally:
            self._first_ended()
        if not is_transient_status(first.status_code):
            return first
        hedged = await self._wait_for_hedges()
        if hedged is None:
            return first
        await first.aclose()
        return hedged

    def _first_ended(self) -> None:
        self._timer.cancel()
        self._first_is_running = False
        if self._interrupted:
            self._interrupted = False
            self._task.uncancel()

    async def _wait_for_hedges(self) -> httpx.Response | None:
        while self._hedged_answer is None:
            pending = [hedge.task for hedge in self._hedges if not hedge.task.done()]
            if not pending:
                break
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        return self._hedged_answer

    def _set_timer(self) -> None:
        self._timer = self._task.get_loop().call_later(self._delay_s, self._start_hedge)

    def _start_hedge(self) -> None:
        if self._task.cancelling() > self._cancelling:
            return  # the caller is leaving, or a hedge has won
        self._hedges.append(_Hedge(len(self._hedges) + 1, self._run_hedge))
        if len(self._hedges) < self._max_hedges:
            self._set_timer()

    async def _run_hedge(self, hedge: "_Hedge") -> None:
        hedge.started = True
        self._on_start(self._call, hedge.number)
        try:
            answer = await self._attempt(copy(self._call))
        except Exception:  # noqa: BLE001 - whatever it is, the first attempt decides
            hedge.failed = True
            return
        hedge.answer = answer
        hedge.failed = is_transient_status(answer.status_code)
        if hedge.failed or self._hedged_answer is not None:
            return
        self._hedged_answer = answer
        if self._first_is_running:
            self._interrupted = True
            self._task.cancel()

    async def _end_hedges_and_keep(self, answer: httpx.Response) -> None:
        try:
            await self._end_hedges(answer)
        except BaseException:
            self._returned = None
            await answer.aclose()
            raise

    async def _end_hedges(self, returned: httpx.Response | None) -> None:
        self._returned = returned
        await cancel_and_wait(hedge.task for hedge in self._hedges)
        for hedge in self._hedges:
            if hedge.answer is not None and hedge.answer is not returned:
                await hedge.answer.aclose()


class _Hedge:
    """One hedge: its task, and what it has come to."""

    __slots__ = ("answer", "failed", "number", "started", "task")

    def __init__(self, number: int, run: Callable[["_Hedge"], Coroutine[None, None, None]]) -> None:
        self.answer: httpx.Response | None = None
        self.failed = False
        self.started = False
        self.number = number
        self.task = asyncio.get_running_loop().create_task(run(self))
