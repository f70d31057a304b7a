import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import AttemptTimeout
from resilience._internal.timing import TimeLimit, time_limits
from resilience.testing import VirtualClockLoop

LIMIT_S = 0.5


async def ended_at_s(
    limited: Callable[[], TimeLimit], begin_s: float, work_s: float
) -> tuple[str, float]:
    await asyncio.sleep(begin_s)
    try:
        with limited():
            await asyncio.sleep(work_s)
        end = "done"
    except AttemptTimeout:
        end = "too long"
    return end, asyncio.get_running_loop().time()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), max_size=20))
def test_each_of_many_limits_ends_its_own_block_on_time(blocks: list[tuple[float, float]]) -> None:
    async def all_blocks() -> list[tuple[str, float]]:
        limited = time_limits(LIMIT_S, AttemptTimeout)
        return await asyncio.gather(*(ended_at_s(limited, *block) for block in blocks))

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        ends = runner.run(all_blocks())
    for (begin_s, work_s), (end, at_s) in zip(blocks, ends, strict=True):
        if abs(work_s - LIMIT_S) > 1e-6:
            assert end == ("done" if work_s < LIMIT_S else "too long")
        assert at_s == pytest.approx(begin_s + min(work_s, LIMIT_S), abs=1e-6)


def test_limits_go_on_in_another_loop_after_the_first_was_closed() -> None:
    limited = time_limits(LIMIT_S, AttemptTimeout)
    for _ in range(2):
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            assert runner.run(ended_at_s(limited, 0, 0.1)) == ("done", 0.1)
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            assert runner.run(ended_at_s(limited, 0, 9)) == ("too long", LIMIT_S)
