import asyncio

import pytest
from starlette.types import Message

from chaos.delay import delay

pytestmark = pytest.mark.virtual_clock

REQUEST: Message = {"type": "http.request", "body": b"", "more_body": False}
GONE: Message = {"type": "http.disconnect"}


class Caller:
    """Sends each message at its moment (seconds from the start), then stays silent."""

    def __init__(self, *script: tuple[float, Message]) -> None:
        self._script = list(script)

    async def receive(self) -> Message:
        """Return the next message when it is due."""
        if not self._script:
            await asyncio.get_running_loop().create_future()
        at, message = self._script[0]
        await asyncio.sleep(at - asyncio.get_running_loop().time())
        del self._script[0]
        return message


async def test_a_patient_caller_waits_all_of_it_and_is_read_afterwards() -> None:
    receive = await delay(0.5, Caller((0, REQUEST), (0.9, GONE)).receive)

    assert asyncio.get_running_loop().time() == pytest.approx(0.5)
    assert receive is not None
    assert [await receive(), await receive()] == [REQUEST, GONE]


async def test_a_hang_up_ends_the_wait_at_once() -> None:
    assert await delay(0.5, Caller((0, REQUEST), (0.3, GONE)).receive) is None
    assert asyncio.get_running_loop().time() == pytest.approx(0.3)


async def test_an_upload_is_read_no_further_than_its_first_chunk() -> None:
    first: Message = {"type": "http.request", "body": b"x", "more_body": True}
    caller = Caller((0, first), (0, REQUEST))
    receive = await delay(0.5, caller.receive)

    assert len(caller._script) == 1
    assert receive is not None
    assert [await receive(), await receive()] == [first, REQUEST]


async def test_a_time_out_of_the_caller_is_not_taken_for_the_end_of_the_wait() -> None:
    async def broken() -> Message:
        raise TimeoutError("not ours")

    with pytest.raises(TimeoutError, match="not ours"):
        await delay(0.5, broken)


async def test_cancellation_passes_through() -> None:
    task = asyncio.ensure_future(delay(60, Caller((0, REQUEST)).receive))
    await asyncio.sleep(1)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
