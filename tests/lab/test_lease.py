"""A fault under a lease, in virtual time."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from lab.control import NoAnswerError
from lab.errors import NoValidData
from lab.faults.lease import LEASE_S, RENEW_EVERY_S, leased

pytestmark = pytest.mark.virtual_clock


class _Source:
    """Takes a fault under a lease; its first answers are *answers*, None for one that is good."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)
        self._ends_at_s = 0.0
        self.done: list[str] = []

    @property
    def is_on(self) -> bool:
        return asyncio.get_running_loop().time() < self._ends_at_s

    def forget(self) -> None:
        self._ends_at_s = 0.0

    async def put_on(self) -> None:
        self._answer("put on")
        self._lease()

    async def renew(self) -> bool:
        self._answer("renew")
        if self.is_on:
            self._lease()
        return self.is_on

    async def take_off(self) -> None:
        self.done.append("take off")
        self.forget()

    def _answer(self, what: str) -> None:
        self.done.append(what)
        if self._answers and (trouble := self._answers.pop(0)) is not None:
            raise trouble

    def _lease(self) -> None:
        self._ends_at_s = asyncio.get_running_loop().time() + LEASE_S


def held(source: _Source, *, persistent: bool = False) -> AbstractAsyncContextManager[None]:
    return leased(
        put_on=source.put_on,
        renew=source.renew,
        take_off=source.take_off,
        persistent=persistent,
    )


async def test_a_fault_stays_on_while_the_block_runs_and_is_off_afterwards() -> None:
    source = _Source()
    async with held(source):
        await asyncio.sleep(10 * LEASE_S)
        assert source.is_on

    assert source.done[0] == "put on"
    assert set(source.done[1:-1]) == {"renew"}
    assert source.done[-1] == "take off"
    await asyncio.sleep(10 * LEASE_S)
    assert source.done[-1] == "take off"


async def test_two_renewals_may_fail() -> None:
    source = _Source(None, NoAnswerError("busy"), NoAnswerError("busy"))
    async with held(source):
        await asyncio.sleep(LEASE_S + RENEW_EVERY_S)
        assert source.is_on


@pytest.mark.parametrize("persistent", [True, False])
async def test_a_fault_that_is_forgotten_is_put_on_again_only_where_that_is_asked_for(
    persistent: bool,
) -> None:
    source = _Source()
    async with held(source, persistent=persistent):
        source.forget()
        await asyncio.sleep(2 * RENEW_EVERY_S)
        assert source.is_on is persistent


async def test_a_fault_that_cannot_be_put_on_again_at_once_is_tried_again() -> None:
    source = _Source(None, NoAnswerError("restarting"), NoValidData("it is starting up"))
    async with held(source, persistent=True):
        source.forget()
        await asyncio.sleep(5 * RENEW_EVERY_S)
        assert source.is_on


async def test_a_fault_that_cannot_be_put_on_is_an_error_before_the_block() -> None:
    source = _Source(NoValidData("refused"))
    with pytest.raises(NoValidData, match="refused"):
        async with held(source):
            pytest.fail("it is not on")


async def test_a_block_that_is_cancelled_takes_its_fault_off() -> None:
    source = _Source()

    async def block() -> None:
        async with held(source):
            await asyncio.sleep(3600)

    task = asyncio.create_task(block())
    await asyncio.sleep(10 * LEASE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert source.done[-1] == "take off"
