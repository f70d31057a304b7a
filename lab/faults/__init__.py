"""Makes a running system sick, and well again: applying and reverting are one context manager.

    chaos          the service's own fault injector, under a lease
    link           what stands on a link between two parts, under a lease
    lease          holds a fault that would end by itself
    process        pause, stop and kill of the service's process
    restart        ended and started again, once
    flap           the same over and over
    burn           processes beside the service that use up the processor
    memory         a process beside the service that holds memory (`memory_holder`)
    descriptors    a limit on the files and sockets that the service may open
    flush          a backing Redis emptied
    extension      a class of the user's own

Each yields what the fault in force can be asked (`applied`): whether it still is on, and what it
has touched. What the lab cannot revert, because it was killed, ends with the processes, which the
keeper ends.
"""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from lab.faults.applied import AppliedFault
from lab.faults.burn import burn_fault
from lab.faults.chaos import chaos_fault
from lab.faults.descriptors import files_fault
from lab.faults.extension import extension_fault
from lab.faults.flap import flap_fault
from lab.faults.flush import flush_fault
from lab.faults.link import link_fault
from lab.faults.memory import memory_fault
from lab.faults.process import process_fault
from lab.faults.restart import restart_fault
from lab.running import RunningSystem
from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import (
    BurnFault,
    Fault,
    FilesFault,
    FlapFault,
    FlushFault,
    MemoryFault,
    ProcessFault,
    RestartFault,
)

_Applied = AbstractAsyncContextManager[AppliedFault]
_BY_KIND: Mapping[type, Callable[[Any, RunningSystem], _Applied]] = {
    BurnFault: burn_fault,
    FilesFault: files_fault,
    FlapFault: flap_fault,
    FlushFault: flush_fault,
    MemoryFault: memory_fault,
    ProcessFault: process_fault,
    RestartFault: restart_fault,
}


def applied(
    fault: Fault, system: RunningSystem, chance: random.Random, *, persistent: bool = False
) -> _Applied:
    """Return what applies *fault* when entered and reverts it when left, however it is left.

    Args:
        fault: what to do.
        system: to whom.
        chance: where the dice of the fault get their seed.
        persistent: whether an injector that has forgotten its fault is told again.
    """
    if isinstance(fault, ChaosFault):
        seed = chance.getrandbits(32)
        return chaos_fault(fault, system, seed=seed, persistent=persistent)
    if isinstance(fault, LinkFault):
        seed = chance.getrandbits(32)
        return link_fault(fault, system, seed=seed, persistent=persistent)
    if isinstance(fault, ExtensionFault):
        return extension_fault(fault, system, chance)
    return _BY_KIND[type(fault)](fault, system)


__all__ = ["AppliedFault", "applied"]
