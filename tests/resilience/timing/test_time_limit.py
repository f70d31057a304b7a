import asyncio

import pytest

from resilience import AttemptFailed, AttemptTimeout, Event, GaveUp, Policies, TotalTimeout
from resilience._internal.timing import TimeLimit
from tests.resilience.script import Script, Told

pytestmark = pytest.mark.virtual_clock


async def limited(work_s: float, limit_s: float) -> str:
    with TimeLimit(limit_s, AttemptTimeout):
        await asyncio.sleep(work_s)
        return "done"


async def test_the_limit_ends_the_block_with_its_error_on_time() -> None:
    with pytest.raises(AttemptTimeout) as raised:
        await limited(9, limit_s=0.3)
    assert raised.value.limit_s == 0.3
    assert asyncio.get_running_loop().time() == pytest.approx(0.3)


async def test_the_callers_task_is_left_uncancelled_pt_091() -> None:
    task = asyncio.current_task()
    assert task is not None
    for work_s in (9, 0.1):
        await asyncio.gather(limited(0.1, limit_s=1), return_exceptions=True)
        try:
            assert await limited(work_s, limit_s=0.3) == "done"
        except AttemptTimeout:
            assert work_s == 9
        assert task.cancelling() == 0
    await asyncio.sleep(5)  # a limit that outlived its block would cancel this


@pytest.mark.parametrize(
    ("policies", "told_as"),
    [
        (Policies(attempt_timeout_s=0.3), AttemptFailed),
        (Policies(total_timeout_s=0.3), GaveUp),
    ],
)
async def test_a_limit_that_expires_is_told_once_and_cancels_no_caller_pt_085(
    policies: Policies, told_as: type[Event]
) -> None:
    task, told = asyncio.current_task(), Told(policies)
    with pytest.raises((AttemptTimeout, TotalTimeout)) as raised:
        await told.run(Script(9.0))
    assert raised.value.args == (0.3,)
    about = [event for event in told.events if getattr(event, "cause", None) is raised.value]
    assert [type(event) for event in about] == [told_as]
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("limit_s", [0.3, 0.2, 0.1])
async def test_a_callers_cancellation_passes_through_with_its_message_pt_089_pt_090(
    limit_s: float,
) -> None:
    """At 0.1 s the caller cancels at the very moment that the limit expires."""
    task = asyncio.create_task(limited(9, limit_s))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(0.1, task.cancel, "the caller")
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    if limit_s > 0.1:
        assert raised.value.args == ("the caller",)
    assert task.cancelled()


@pytest.mark.parametrize("caller_first", [True, False])
async def test_a_caller_that_cancels_as_the_limit_expires_wins_whoever_comes_first(
    caller_first: bool,
) -> None:
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[str]] = []

    def cancel() -> None:
        tasks[0].cancel()

    if caller_first:
        loop.call_at(0.1, cancel)
    tasks.append(asyncio.create_task(limited(9, limit_s=0.1)))
    await asyncio.sleep(0)
    if not caller_first:
        loop.call_at(0.1, cancel)
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


async def test_of_two_limits_that_expire_together_the_outer_one_wins() -> None:
    with pytest.raises(TotalTimeout), TimeLimit(0.3, TotalTimeout):
        await limited(9, limit_s=0.3)


async def test_a_value_that_comes_in_spite_of_the_limit_is_kept_ps_007() -> None:
    async def stubborn() -> str:
        with TimeLimit(0.1, AttemptTimeout):
            try:
                await asyncio.sleep(9)
            except asyncio.CancelledError:
                return "late"
        return "never"

    assert await stubborn() == "late"


async def test_another_error_that_comes_in_spite_of_the_limit_is_kept() -> None:
    async def failing() -> None:
        with TimeLimit(0.1, AttemptTimeout):
            try:
                await asyncio.sleep(9)
            finally:
                raise ValueError("while cleaning up")

    with pytest.raises(ValueError, match="cleaning up"):
        await failing()


async def test_a_limit_works_inside_a_task_that_is_being_cancelled() -> None:
    """As in a `finally` that says goodbye to a hung peer; asyncio.timeout fails here."""
    ended_in: list[str] = []

    async def with_goodbye() -> None:
        try:
            await asyncio.sleep(99)
        finally:
            try:
                await limited(9, limit_s=0.3)
            except AttemptTimeout:
                ended_in.append("its own time-out")

    task = asyncio.create_task(with_goodbye())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended_in == ["its own time-out"]
