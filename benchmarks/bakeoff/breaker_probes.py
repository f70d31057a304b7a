"""What a breaker makes of cancelled, concurrent, scattered and late results.

Each probe takes a variant with a breaker and returns its finding in a few words.
"""

import asyncio

from benchmarks.bakeoff.stage import BREAK_S, OK, SICK, Stage, staged
from benchmarks.bakeoff.variants import Variant

CANCELLED = 20
CROWD = 50
SCATTERED = 30
_MARGIN_S = 0.1
_NOT_COUNTED = "not counted"


async def cancelled_calls(variant: Variant) -> str:
    """Tell what calls count as that their callers cancelled."""
    async with staged(variant) as stage:
        held, _ = await stage.hold(CANCELLED)
        await held.cancel()
        if not await stage.admits():
            return "failures: the circuit opens"
    if await _a_cancel_breaks_a_streak(variant):
        return "successes: failures are forgotten"
    return _NOT_COUNTED


async def _a_cancel_breaks_a_streak(variant: Variant) -> bool:
    """One failure short of opening, cancel calls, then add that failure."""
    async with staged(variant) as stage:
        needed = await stage.trip()
    async with staged(variant) as stage:
        await stage.answers(SICK, times=needed - 1)
        held, _ = await stage.hold(3 * needed)
        await held.cancel()
        await stage.answers(SICK)
        return await stage.admits()


async def cancellations_kept(variant: Variant) -> str:
    """Tell how many of the cancelled tasks end as cancelled."""
    async with staged(variant) as stage:
        held, _ = await stage.hold(CANCELLED)
        return f"{await held.cancel()} of {CANCELLED}"


async def half_open_crowd(variant: Variant) -> str:
    """Tell how many of many concurrent calls a half-open circuit lets through."""
    async with staged(variant) as stage:
        await _half_open(stage)
        held, admitted = await stage.hold(CROWD)
        await held.release(OK)
        return f"{admitted} of {CROWD}"


async def cancelled_trial(variant: Variant) -> str:
    """Tell what becomes of a half-open circuit whose trial is cancelled."""
    async with staged(variant) as stage:
        await _half_open(stage)
        held, _ = await stage.hold()
        await held.cancel()
        if not await stage.answers(SICK):
            return "opens again"
        return "closes" if await stage.admits() else "the next call is the trial"


async def split_trials(variant: Variant) -> str:
    """Tell what two trials at once make of a half-open circuit: one fails, then one succeeds."""
    async with staged(variant) as stage:
        await _half_open(stage)
        failing, _ = await stage.hold()
        succeeding, admitted = await stage.hold()
        await failing.release(SICK)
        await succeeding.release(OK)
        if not admitted:
            return "one trial at a time"
        return "closes" if await stage.admits() else "stays open"


async def scattered_failures(variant: Variant) -> str:
    """Tell when the circuit opens though every third call succeeds."""
    async with staged(variant) as stage:
        for number in range(1, SCATTERED + 1):
            if not await stage.answers(OK if number % 3 == 0 else SICK):
                return f"opens after {number - 1} calls"
    return f"closed after {SCATTERED} calls"


async def late_success(variant: Variant) -> str:
    """Tell what a success does to an open circuit that was closed when its call began."""
    async with staged(variant) as stage:
        held, _ = await stage.hold()
        await stage.trip()
        await held.release(OK)
        return "closes the circuit" if await stage.admits() else _NOT_COUNTED


async def late_failure(variant: Variant) -> str:
    """Tell what a failure does to an open circuit that was closed when its call began."""
    async with staged(variant) as stage:
        held, _ = await stage.hold()
        await stage.trip()
        await asyncio.sleep(BREAK_S / 2)
        await held.release(SICK)
        await asyncio.sleep(BREAK_S / 2 + _MARGIN_S)
        return _NOT_COUNTED if await stage.admits() else "prolongs the break"


async def _half_open(stage: Stage) -> None:
    await stage.trip()
    await asyncio.sleep(BREAK_S + _MARGIN_S)
