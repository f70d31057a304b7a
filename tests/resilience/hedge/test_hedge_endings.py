"""However a race ends, every answer but the returned one is closed, and nobody stays cancelled."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from resilience import HedgeSettings, Policies
from tests.resilience.script import Told

pytestmark = pytest.mark.virtual_clock

Answers = list[httpx.Response]


def open_response(status: int) -> httpx.Response:
    async def body() -> AsyncIterator[bytes]:
        yield b"body"

    return httpx.Response(status, content=body())


class Answering:
    """Answers request n as `steps[n]` says: after so many seconds, with this status.

    A cancelled request that is to answer "in spite" of it does so after so many seconds more.
    """

    def __init__(self, *steps: tuple[float, int], in_spite_s: float | None = None) -> None:
        self.steps = steps
        self.in_spite_s = in_spite_s
        self.answers: Answers = []
        self.requests = 0

    async def __call__(self) -> httpx.Response:
        """Answer the next request."""
        after_s, status = self.steps[self.requests]
        self.requests += 1
        try:
            await asyncio.sleep(after_s)
        except asyncio.CancelledError:
            if self.in_spite_s is None:
                raise
            await asyncio.sleep(self.in_spite_s)
        self.answers.append(open_response(status))
        return self.answers[-1]


def told_of(*, max_hedges: int = 1) -> Told:
    return Told(Policies(hedge=HedgeSettings(delay_s=0.1, max_hedges=max_hedges)))


async def run(told: Told, send: Callable[[], object]) -> httpx.Response:
    return await told.pipeline.run(send)  # type: ignore[arg-type]


def closed(answers: Answers) -> list[bool]:
    return [answer.is_closed for answer in answers]


async def test_a_failing_first_answer_is_closed_when_the_hedge_answers_instead() -> None:
    send = Answering((0.2, 503), (0.3, 200))
    assert (await run(told_of(), send)).status_code == 200
    assert closed(send.answers) == [True, False]


async def test_a_failing_first_answer_is_closed_when_the_caller_leaves_meanwhile() -> None:
    send = Answering((0.2, 503), (9.0, 200))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await run(told_of(), send)
    assert closed(send.answers) == [True]


async def test_the_winner_is_closed_when_the_caller_leaves_while_the_loser_is_waited_for() -> None:
    send = Answering((0.2, 200), (9.0, 200), in_spite_s=1.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await run(told_of(), send)
    assert closed(send.answers) == [True, True]


async def test_two_hedges_that_answer_in_one_step_interrupt_the_first_once() -> None:
    send = Answering((9.0, 200), (0.3, 200), (0.2, 200))
    response = await run(told_of(max_hedges=2), send)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert sorted(closed(send.answers)) == [False, True]
    assert not response.is_closed


async def test_a_call_in_the_clean_up_of_a_cancelled_task_is_hedged_like_any_other() -> None:
    send = Answering((9.0, 200), (0.1, 200))
    responses: Answers = []

    async def cancelled() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            responses.append(await run(told_of(), send))

    task = asyncio.create_task(cancelled())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert [response.status_code for response in responses] == [200]
    assert asyncio.get_running_loop().time() == pytest.approx(1.2)


async def test_callers_who_leave_early_do_not_make_the_source_look_fast() -> None:
    told = Told(Policies(hedge=HedgeSettings(percentile=90)))
    for _ in range(30):
        await run(told, Answering((0.1, 200)))
    for _ in range(300):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run(told, Answering((0.1, 200)))
    send = Answering((9.0, 200), (0.01, 200))
    began_s = asyncio.get_running_loop().time()
    await run(told, send)
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(0.111)
