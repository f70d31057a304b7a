"""A service that may open no more file descriptors."""

import itertools
import resource
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from lab.errors import NoValidData
from lab.faults.applied import AppliedFault, UncountedFault
from lab.running import RunningSystem
from lab.spec.faults import FilesFault


@asynccontextmanager
async def files_fault(fault: FilesFault, system: RunningSystem) -> AsyncIterator[AppliedFault]:
    """Lower the soft limit of the service's processes, and put it back at the end.

    Raises:
        NoValidData: there is no process of the lab's, its limit cannot be set, or the service did
            not recover.
    """
    if sys.platform != "linux":
        raise NoValidData("the limit of a running process can be set on Linux only; remove files")
    process = system.own_process(fault.service)
    with ExitStack() as put_back:
        for pid in _group(process.pid):
            _lower(pid, fault.spare, put_back)
        lowered = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)

        async def is_low() -> bool:
            if process.exit_code is not None:
                return False
            return resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == lowered

        yield UncountedFault(is_low)
    await system.start(system.system.service(fault.service))


def limit_for(open_numbers: Collection[int], spare: int) -> int:
    """Return the limit under which *spare* more descriptors can be opened.

    A process is given the lowest free number, and the limit is on the number rather than on how
    many are open: it goes to the first free number that may not be given out any more.
    """
    taken = set(open_numbers)
    free = (number for number in itertools.count() if number not in taken)
    return next(itertools.islice(free, spare, None))


def _lower(pid: int, spare: int, put_back: ExitStack) -> None:
    try:
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        numbers = [int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()]
        limit = min(limit_for(numbers, spare), before[0])
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    except (ProcessLookupError, FileNotFoundError):
        return  # it ended meanwhile
    except OSError as failure:
        raise NoValidData(f"cannot limit the files of process {pid}: {failure}") from failure
    put_back.callback(_raise_again, pid, lowered=(limit, before[1]), before=before)


def _raise_again(pid: int, *, lowered: tuple[int, int], before: tuple[int, int]) -> None:
    with suppress(ProcessLookupError):
        # Another process may have the pid by now.
        if resource.prlimit(pid, resource.RLIMIT_NOFILE) == lowered:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def _group(leader: int) -> list[int]:
    """Return the pids of a process group."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                _, _, after_name = (entry / "stat").read_text(errors="replace").rpartition(")")
                if int(after_name.split()[2]) == leader:
                    members.append(int(entry.name))
    return members
