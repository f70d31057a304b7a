import asyncio
import time

import pytest


@pytest.mark.virtual_clock
async def test_an_hour_of_virtual_time_passes_at_once() -> None:
    started = time.perf_counter()
    await asyncio.sleep(3600)

    assert asyncio.get_running_loop().time() == 3600
    assert time.perf_counter() - started < 5


@pytest.mark.virtual_clock
async def test_a_deadlock_is_an_error_and_not_a_hang() -> None:
    loop = asyncio.get_running_loop()

    with pytest.raises(RuntimeError, match="never end"):
        loop._selector.select(None)  # type: ignore[attr-defined]
