"""One timer watches many deadlines, whatever those who are due do."""

import asyncio
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience._internal.timing import Deadlines
from resilience.testing import VirtualClockLoop

pytestmark = pytest.mark.virtual_clock
DISTANCE_S = 1.0


class Due:
    """Has a deadline; adds itself again `again` times when it is due, or raises."""

    def __init__(
        self, deadlines: Deadlines, *, again: int = 0, error: Exception | None = None
    ) -> None:
        self.deadlines = deadlines
        self.again = again
        self.error = error
        self.due_at_s: list[float] = []
        self.add()

    def add(self) -> None:
        """Be watched from now on."""
        loop = asyncio.get_running_loop()
        self.deadline_s = loop.time() + DISTANCE_S
        self.deadlines.add(self, loop)

    def expire(self) -> None:
        """Note it."""
        self.due_at_s.append(asyncio.get_running_loop().time())
        if self.error is not None:
            raise self.error
        if self.again:
            self.again -= 1
            self.add()


def armed() -> int:
    loop = cast("VirtualClockLoop", asyncio.get_running_loop())
    return sum(not handle.cancelled() for handle in loop._scheduled)  # type: ignore[attr-defined]


async def test_one_timer_does_however_many_add_themselves_again() -> None:
    deadlines = Deadlines()
    each = [Due(deadlines, again=3) for _ in range(20)]
    for _ in range(4):
        assert armed() == 1
        await asyncio.sleep(DISTANCE_S + 0.01)
    assert {len(due.due_at_s) for due in each} == {4}
    assert armed() == 0


async def test_one_that_raises_leaves_the_others_their_deadlines() -> None:
    loop = asyncio.get_running_loop()
    raised: list[object] = []
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    deadlines, error = Deadlines(), RuntimeError("what is due may be anybody's code")
    Due(deadlines, error=error)
    other = Due(deadlines)
    await asyncio.sleep(2 * DISTANCE_S)
    assert raised == [error]
    assert other.due_at_s == [DISTANCE_S]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3)), max_size=20))
def test_each_is_due_at_its_deadline_each_time(added: list[tuple[float, int]]) -> None:
    async def watch() -> list[tuple[float, int, list[float]]]:
        deadlines, each = Deadlines(), []
        for at_s, again in sorted(added):
            await asyncio.sleep(at_s - asyncio.get_running_loop().time())
            each.append((at_s, again, Due(deadlines, again=again)))
        await asyncio.sleep(10 * DISTANCE_S)
        return [(at_s, again, due.due_at_s) for at_s, again, due in each]

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        ended = runner.run(watch())
    for at_s, again, due_at_s in ended:
        expected = [at_s + DISTANCE_S * (number + 1) for number in range(again + 1)]
        assert due_at_s == pytest.approx(expected, abs=1e-6)
