import asyncio

import pytest
from starlette.types import Message

from chaos.caller import Caller

pytestmark = pytest.mark.virtual_clock

REQUEST: Message = {"type": "http.request", "body": b"", "more_body": False}
FIRST: Message = {"type": "http.request", "body": b"x", "more_body": True}
GONE: Message = {"type": "http.disconnect"}


class Script:
    """Sends each message at its moment (seconds from the start), then stays silent."""

    def __init__(self, *steps: tuple[float, Message]) -> None:
        self.left = list(steps)

    async def receive(self) -> Message:
        """Return the next message when it is due."""
        if not self.left:
            await asyncio.get_running_loop().create_future()
        at, message = self.left[0]
        await asyncio.sleep(at - asyncio.get_running_loop().time())
        del self.left[0]
        return message


async def left_at_s(caller: Caller, within_s: float = 60) -> float | None:
    """Return when the caller was seen to leave; None if it was not within so long."""
    async with caller.watched() as gone:
        await asyncio.wait({gone}, timeout=within_s)
        return asyncio.get_running_loop().time() if gone.done() else None


async def test_a_hang_up_is_noticed_at_once() -> None:
    caller = Caller(Script((0, REQUEST), (0.3, GONE)).receive)

    assert await left_at_s(caller) == pytest.approx(0.3)
    assert caller.is_gone


async def test_what_was_read_during_a_watch_is_read_again_by_the_application() -> None:
    caller = Caller(Script((0, REQUEST), (0.9, GONE)).receive)

    assert await left_at_s(caller, within_s=0.5) is None
    assert not caller.is_gone
    assert [await caller.receive(), await caller.receive()] == [REQUEST, GONE]


async def test_an_upload_is_read_no_further_than_its_first_chunk() -> None:
    script = Script((0, FIRST), (0, REQUEST))
    caller = Caller(script.receive)

    assert await left_at_s(caller, within_s=0.5) is None
    assert script.left == [(0, REQUEST)]
    assert [await caller.receive(), await caller.receive()] == [FIRST, REQUEST]


async def test_the_application_reads_while_the_caller_is_watched() -> None:
    caller = Caller(Script((0, REQUEST), (0.3, GONE)).receive)
    async with caller.watched() as gone:
        await asyncio.sleep(0.1)

        assert await caller.receive() == REQUEST
        assert await caller.receive() == GONE
        await gone


async def test_a_hang_up_that_the_application_read_first_is_noticed_too() -> None:
    caller = Caller(Script((0, REQUEST), (0.3, GONE)).receive)
    reading = [await caller.receive(), await caller.receive()]

    assert reading == [REQUEST, GONE]
    assert await left_at_s(caller) == pytest.approx(0.3)


async def test_what_goes_wrong_while_reading_is_told_to_who_watches() -> None:
    async def broken() -> Message:
        raise TimeoutError("not ours")

    async with Caller(broken).watched() as gone:
        with pytest.raises(TimeoutError, match="not ours"):
            await gone


async def test_cancellation_passes_through_and_leaves_nobody_watching() -> None:
    task = asyncio.ensure_future(left_at_s(Caller(Script((0, REQUEST)).receive)))
    await asyncio.sleep(1)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
