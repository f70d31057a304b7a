"""Faults that a person puts on and takes off, each kept by a task of its own."""

import asyncio
import itertools
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lab.errors import NoValidData
from lab.faults import AppliedFault, applied
from lab.running import RunningSystem
from lab.spec.fault_documents import ChaosFault
from lab.spec.faults import MOMENTARY, Fault, go_together
from lab.up.errors import ConflictError, UnknownError

Note = Callable[[str, "LiveFault"], None]  # an event's name and whom it is about
_LOOK_S = 1.0


@dataclass(slots=True, kw_only=True, eq=False)
class LiveFault:
    """A fault from the moment it was asked for until it has been reverted."""

    id: str
    fault: Fault
    for_s: float | None  # until it ends by itself, from the moment it was on; None: when cleared
    since: datetime
    until: datetime | None = None
    trouble: str = ""  # why it could not be reverted
    applied: AppliedFault | None = None  # None until it has been applied
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # applied, or not to be
    off: asyncio.Event = field(default_factory=asyncio.Event)

    async def is_on(self) -> bool | None:
        """Tell whether it has its effect; None where that cannot be found out now."""
        if self.applied is None:
            return None
        try:
            async with asyncio.timeout(_LOOK_S):
                return await self.applied.is_active()
        except TimeoutError:
            return None

    async def touched(self) -> int | None:
        """Return how many requests or connections it has touched; None where that is not known."""
        if self.applied is None:
            return None
        try:
            async with asyncio.timeout(_LOOK_S):
                touches = await self.applied.touches()
        except TimeoutError:
            return None
        return None if touches is None else touches.touched


class LiveFaults:
    """The faults that are on, in the order in which they were put on."""

    def __init__(
        self, system: RunningSystem, group: asyncio.TaskGroup, chance: random.Random, note: Note
    ) -> None:
        self._system = system
        self._group = group
        self._chance = chance
        self._note = note
        self._numbers = itertools.count(1)
        self._on: dict[str, LiveFault] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # one a service

    def all(self) -> list[LiveFault]:
        """Return those that are on."""
        return list(self._on.values())

    def of(self, service: str) -> list[LiveFault]:
        """Return those that are on at one service."""
        return [live for live in self._on.values() if live.fault.service == service]

    async def put_on(self, fault: Fault, *, for_s: float | None = None) -> LiveFault:
        """Apply *fault* and keep it for *for_s* seconds, or until it is taken off.

        A fault of the service's own injector takes the place of the one before.

        Raises:
            ConflictError: one that is on does not go with it.
            NoValidData: it could not be applied.
        """
        async with self._turns[fault.service]:
            for other in self.of(fault.service):
                if isinstance(fault, ChaosFault) and isinstance(other.fault, ChaosFault):
                    await self.take_off(other.id)
            self._check_room(fault)
            live = LiveFault(
                id=f"f{next(self._numbers)}",
                fault=fault,
                for_s=0.0 if isinstance(fault, MOMENTARY) else for_s,
                since=datetime.now(UTC),
            )
            self._on[live.id] = live
            self._tasks[live.id] = self._group.create_task(self._keep(live))
            await live.settled.wait()
            if live.applied is None:
                raise NoValidData(live.trouble or "the system is going down")
            return live

    async def take_off(self, fault_id: str) -> LiveFault:
        """Revert a fault and wait until that is done.

        Raises:
            UnknownError: no such fault is on.
            NoValidData: it could not be reverted.
        """
        live = self._on.get(fault_id)
        if live is None:
            known = ", ".join(self._on) or "none"
            raise UnknownError(f"no fault {fault_id!r} is on; on now: {known}")
        live.off.set()
        await asyncio.wait({self._tasks[fault_id]})
        if live.trouble:
            raise NoValidData(live.trouble)
        return live

    def end_all(self) -> None:
        """Begin to revert all, without starting again what is about to be stopped."""
        for task in self._tasks.values():
            task.cancel()

    def _check_room(self, fault: Fault) -> None:
        for other in self.of(fault.service):
            kinds = (fault, other.fault)
            # A chaos fault outlasts the process that it is in: it is put on again in the next.
            if not go_together(*kinds) and not any(isinstance(k, ChaosFault) for k in kinds):
                raise ConflictError(
                    f"{fault.kind} does not go with {other.fault.kind}, which is on at "
                    f"{fault.service} ({other.id}); take that off first"
                )

    async def _keep(self, live: LiveFault) -> None:
        try:
            fault = applied(live.fault, self._system, self._chance, persistent=True)
            async with fault as live.applied:
                live.since = datetime.now(UTC)
                if live.for_s is not None:
                    live.until = live.since + timedelta(seconds=live.for_s)
                self._note("fault.applied", live)
                live.settled.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(live.for_s):
                        await live.off.wait()
        except (NoValidData, OSError) as failure:
            live.trouble = str(failure)
        finally:
            del self._on[live.id], self._tasks[live.id]
            live.settled.set()
            if live.applied is not None:
                self._note("fault.reverted", live)


@asynccontextmanager
async def live_faults(
    system: RunningSystem, chance: random.Random, note: Note
) -> AsyncIterator[LiveFaults]:
    """Yield a place for faults; when the block ends, however it ends, none is left on."""
    async with asyncio.TaskGroup() as group:
        faults = LiveFaults(system, group, chance, note)
        try:
            yield faults
        finally:
            faults.end_all()
