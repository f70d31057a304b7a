"""A neighbour that holds memory, within what the machine can spare."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lab.errors import NoValidData
from lab.faults.applied import AppliedFault, UncountedFault
from lab.keeper import OwnedProcess
from lab.running import RunningSystem
from lab.spec.faults import MemoryFault

LARGEST_SHARE = 0.8  # of what is available: the lab and the services must go on
_PROGRAM = Path(__file__).with_name("memory_holder.py")
_FILL_S = 60.0
_LOOK_EVERY_S = 0.02
_KIB_PER_MIB = 1024


@asynccontextmanager
async def memory_fault(fault: MemoryFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Hold the memory beside the service; it is all held when the block begins.

    Raises:
        NoValidData: the machine has not enough of it, or the neighbour ended.
    """
    available = _kib_of(Path("/proc/meminfo"), "MemAvailable")
    if available is not None and fault.mib * _KIB_PER_MIB > LARGEST_SHARE * available:
        most = int(LARGEST_SHARE * available / _KIB_PER_MIB)
        raise NoValidData(
            f"{fault.mib} MiB are more than the lab may hold here; write at most {most} MiB "
            f"({LARGEST_SHARE:.0%} of what is available)"
        )
    argv = [sys.executable, "-I", "-S", str(_PROGRAM), str(fault.mib)]
    neighbour = await system.start_beside(fault.service, "memory", argv)

    async def is_held() -> bool:
        return neighbour.exit_code is None

    try:
        await _until_held(neighbour, fault.mib)
        yield UncountedFault(is_held)
    finally:
        await system.end_beside(neighbour)


async def _until_held(neighbour: OwnedProcess, mib: int) -> None:
    for _ in range(int(_FILL_S / _LOOK_EVERY_S)):
        if neighbour.exit_code is not None:
            raise NoValidData(
                f"the process that was to hold {mib} MiB ended with code {neighbour.exit_code}; "
                "write a smaller size"
            )
        held = _kib_of(Path(f"/proc/{neighbour.pid}/status"), "VmRSS")
        if held is not None and held >= mib * _KIB_PER_MIB:
            return
        await asyncio.sleep(_LOOK_EVERY_S)
    raise NoValidData(f"{mib} MiB were not held after {_FILL_S:g} s; write a smaller size")


def _kib_of(file: Path, name: str) -> int | None:
    """Return a number of a file of /proc; None where there is none."""
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB$", file.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
