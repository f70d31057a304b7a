"""A fault of a user's own: applied and reverted like any other, its failures one line each."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from lab.errors import LabError, NoValidData
from lab.extensions import Target
from lab.faults.still_on import StillOn
from lab.running import RunningSystem
from lab.spec.extensions import ExtensionFault
from loadgen.code import describe, load_object

WITHIN_S = 10.0


@asynccontextmanager
async def extension_fault(
    fault: ExtensionFault, system: RunningSystem, chance: random.Random
) -> AsyncIterator[StillOn]:
    """Enter what the fault's class makes, and leave it however the block ends.

    Raises:
        NoValidData: the user's code fails or takes longer than WITHIN_S.
    """
    with _blamed(fault, "could not be applied"):
        made = load_object(fault.code)(**fault.options)
        context = made.applied(Target(fault.service, system), chance)
        async with asyncio.timeout(WITHIN_S):
            question = await context.__aenter__()

    async def still_on() -> bool:
        with _blamed(fault, "could not say whether it is on"):
            return question is None or bool(await question())

    try:
        yield still_on
    finally:
        with _blamed(fault, "could not be reverted"):
            async with asyncio.timeout(WITHIN_S):
                await context.__aexit__(None, None, None)


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
