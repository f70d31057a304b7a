"""A fault of a user's own: applied and reverted like any other, its failures one line each."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from lab.errors import LabError, NoValidData
from lab.extensions import Target
from lab.faults.applied import AppliedFault
from lab.results.touches import Touches
from lab.running import RunningSystem
from lab.spec.extensions import ExtensionFault
from loadgen.code import describe, load_object

WITHIN_S = 10.0


@asynccontextmanager
async def extension_fault(
    fault: ExtensionFault, system: RunningSystem, chance: random.Random
) -> AsyncIterator[AppliedFault]:
    """Enter what the fault's class makes, and leave it however the block ends.

    Raises:
        NoValidData: the user's code fails or takes longer than WITHIN_S.
    """
    with _blamed(fault, "could not be applied"):
        made = load_object(fault.code)(**fault.options)
        context = made.applied(Target(fault.service, system), chance)
        async with asyncio.timeout(WITHIN_S):
            yielded = await context.__aenter__()
    try:
        yield _Own(fault, yielded)
    finally:
        with _blamed(fault, "could not be reverted"):
            async with asyncio.timeout(WITHIN_S):
                await context.__aexit__(None, None, None)


class _Own:
    """What the user's code has yielded: nothing, a question, or an object with two of them."""

    def __init__(self, fault: ExtensionFault, yielded: object) -> None:
        self._fault = fault
        self._is_active: Any = getattr(yielded, "is_active", yielded)
        self._touched: Any = getattr(yielded, "touched", None)

    async def is_active(self) -> bool:
        with _blamed(self._fault, "could not say whether it is on"):
            return self._is_active is None or bool(await self._is_active())

    async def touches(self) -> Touches | None:
        with _blamed(self._fault, "could not say what it has touched"):
            if self._touched is None:
                return None
            return Touches(touched=int(await self._touched()))


@contextmanager
def _blamed(fault: ExtensionFault, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into one line that names the place."""
    where = f"the fault {fault.kind} of {Path(fault.code).name} {what}"
    try:
        yield
    except LabError:
        raise
    except TimeoutError:
        raise NoValidData(f"{where}: it took longer than {WITHIN_S:g} s; make it quicker") from None
    except (Exception, SystemExit) as error:
        said = f"{where}: {describe(error)}; correct it and run again"
        raise NoValidData(said) from error
