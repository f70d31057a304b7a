"""A caller on a wire that answers as told, so that a probe reads as a scenario."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx

from benchmarks.bakeoff.budget import Budget, Call, Wire
from benchmarks.bakeoff.variants import Variant

BREAK_S = 1.0
BUDGET = Budget(retries=0, attempt_s=2.5, total_s=2.5, break_s=BREAK_S)
"""No retries: one call is one attempt. The limits outlast every scenario."""

OK, SICK = 200, 500
_PATH = "/rates/USD"
_MAX_FAILURES = 50
_STEPS_TO_THE_WIRE = 100

Outcome = int | Exception
Calls = list[asyncio.Task[Outcome]]


class _Answers(httpx.AsyncBaseTransport):
    """Answers each request by `reply` and counts it."""

    def __init__(self) -> None:
        self.received = 0
        self.reply: Callable[[], Awaitable[int]]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.received += 1
        return httpx.Response(await self.reply(), request=request)


class Held:
    """Calls in flight that end when `release` says how."""

    def __init__(self) -> None:
        self.calls: Calls = []
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def reply(self) -> int:
        """Wait for the release; a cancelled call must not cancel it for the others."""
        return await asyncio.shield(self._status)

    async def release(self, status: int) -> list[Outcome]:
        """Let every call be answered with `status`; return what became of them."""
        self._status.set_result(status)
        return await asyncio.gather(*self.calls)

    async def cancel(self) -> int:
        """Cancel every call; return how many ended as cancelled tasks do."""
        for call in self.calls:
            call.cancel()
        await asyncio.wait(self.calls)
        return sum(call.cancelled() for call in self.calls)


class Stage:
    """What a scenario can do with a caller; `staged` makes one."""

    def __init__(self, call: Call, wire: _Answers, calls: asyncio.TaskGroup) -> None:
        self._call = call
        self._wire = wire
        self._calls = calls

    async def answers(self, status: int, times: int = 1) -> int:
        """Make calls in turn, answered with `status`; return how many reached the wire."""

        async def reply() -> int:
            return status

        self._wire.reply = reply
        before = self._wire.received
        for _ in range(times):
            await self._outcome()
        return self._wire.received - before

    async def admits(self) -> bool:
        """Tell whether a call, which will be answered well, reaches the wire."""
        return await self.answers(OK) == 1

    async def trip(self) -> int:
        """Fail until calls are rejected; return how many failures that took."""
        for failures in range(_MAX_FAILURES):
            if not await self.answers(SICK):
                return failures
        raise RuntimeError(f"the circuit did not open after {_MAX_FAILURES} failures in a row")

    async def hold(self, calls: int = 1) -> tuple[Held, int]:
        """Start so many calls that are not answered yet; return how many reached the wire, too."""
        held = Held()
        self._wire.reply = held.reply
        before = self._wire.received
        held.calls = [self._calls.create_task(self._outcome()) for _ in range(calls)]
        for _ in range(_STEPS_TO_THE_WIRE):
            await asyncio.sleep(0)
        return held, self._wire.received - before

    async def _outcome(self) -> Outcome:
        try:
            return await self._call(_PATH)
        except Exception as error:  # noqa: BLE001 - whatever a library ends a call with
            return error


@asynccontextmanager
async def staged(variant: Variant) -> AsyncIterator[Stage]:
    """Enter a fresh caller of `variant`, its circuit closed."""
    wire = _Answers()
    async with (
        variant.caller(BUDGET, "http://rates", Wire(around=lambda _: wire)) as call,
        asyncio.TaskGroup() as calls,
    ):
        yield Stage(call, wire, calls)
