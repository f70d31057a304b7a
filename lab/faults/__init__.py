"""Makes a running system sick, and well again: applying and reverting are one context manager.

    chaos      the service's own fault injector, under a lease that ends by itself
    process    pause, stop and kill of the service's process

`applied` yields a check: is the fault still on?
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from lab.experiment import ChaosFault, Fault
from lab.faults.chaos import chaos_fault, is_off
from lab.faults.process import process_fault
from lab.running import RunningSystem

StillOn = Callable[[], Awaitable[bool]]


def applied(
    fault: Fault, system: RunningSystem, chance: random.Random, *, persistent: bool = False
) -> AbstractAsyncContextManager[StillOn]:
    """Return what applies *fault* when entered and reverts it when left, however it is left.

    Args:
        fault: what to do.
        system: to whom.
        chance: where the dice of the fault get their seed.
        persistent: whether an injector that has forgotten its fault is told again.
    """
    if isinstance(fault, ChaosFault):
        return chaos_fault(fault, system, seed=chance.getrandbits(32), persistent=persistent)
    return process_fault(fault, system)


__all__ = ["StillOn", "applied", "is_off"]
