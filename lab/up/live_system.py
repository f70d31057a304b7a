"""A running system as a person sees it: states, faults, logs, and what may be done to a service."""

import asyncio
import codecs
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from lab import redis_server
from lab.control import NoAnswerError, ask
from lab.errors import UsageError
from lab.faults.lease import LEASE_S
from lab.results.manifest import plain
from lab.running import RunningSystem
from lab.spec.faults import LEASED, ProcessFault
from lab.spec.problems import suggest
from lab.spec.system import Service
from lab.up.errors import ConflictError, UnknownError
from lab.up.live_faults import LiveFault, LiveFaults
from loadgen.quantities import show

Document = dict[str, object]
Verb = Callable[[Service], Awaitable[None]]
State = Literal["running", "paused", "stopped", "ended", "not ours"]

BREAKER_FIELD = "breaker"
BREAKER_WITHIN_S = 0.5
LONGEST_LOG_BYTES = 256 * 1024
_HELD = {  # kind of fault -> (the service's state in words, what gives it back)
    "pause": ("paused", "resume it"),
    "stop": ("stopped", "start it"),
    "kill": ("killed", "start it"),
    "flap": ("flapping", "clear that"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """A part of a service's log."""

    text: str
    next_byte: int  # where to go on reading


class LiveSystem:
    """A system that is up, the faults on it, and what can be asked of it."""

    def __init__(self, name: str, running: RunningSystem, faults: LiveFaults, logs: Path) -> None:
        self.name = name
        self.running = running
        self.faults = faults
        self._logs = logs
        self._since = datetime.now(UTC)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # one a service
        self._verbs: dict[str, Verb] = {
            "stop": lambda service: self._take_away("stop", service),
            "kill": lambda service: self._take_away("kill", service),
            "pause": lambda service: self._take_away("pause", service),
            "resume": self._resume,
            "start": self._start,
            "restart": self._restart,
        }

    async def status(self) -> Document:
        """Return what `GET /status` says."""
        async with asyncio.TaskGroup() as group:
            services = [
                group.create_task(self.service_status(service))
                for service in self.running.system.services
            ]
            faults = [group.create_task(fault_status(live)) for live in self.faults.all()]
        return {
            "system": self.name,
            "file": str(self.running.system.path),
            "pid": os.getpid(),
            "since": _wire_time(self._since),
            "services": [task.result() for task in services],
            "links": self.links_status(),
            "faults": [task.result() for task in faults],
        }

    def links_status(self) -> list[Document]:
        """Return the links that can be made sick, each with the address that leads through it."""
        return [
            {
                "link": str(link),
                "url": redis_server.without_password(
                    self.running.expand(f"{{{link.target}.url}}", source=link.source)
                ),
            }
            for link in self.running.places
        ]

    async def service_status(self, service: Service) -> Document:
        """Return one service's part of the status."""
        process = self.running.process(service.name)
        url = redis_server.without_password(self.running.url(service.name))
        state = self.state(service)
        return {
            "name": service.name,
            "state": state,
            "url": url,
            "ready": service.ready and url + service.ready,
            "chaos": service.chaos and url + service.chaos,
            "pid": process.pid if process and process.exit_code is None else None,
            "exitCode": process.exit_code if process else None,
            "breaker": await self._breaker(service) if state == "running" else None,
        }

    def state(self, service: Service) -> State:
        """Return what a service's process does now; `ended` if that was not asked for."""
        process = self.running.process(service.name)
        if process is None:
            return "stopped" if self.running.is_ours(service.name) else "not ours"
        if process.exit_code is not None:
            return "ended"
        return "paused" if process.is_stopped() else "running"

    async def do(self, verb: str, name: str) -> Document:
        """Do *verb* to the service called *name* and return its status then.

        Raises:
            UnknownError: there is no such verb or service.
            ConflictError: the service is not in a state for it.
            NoValidData: it was tried and went wrong.
        """
        if verb not in self._verbs:
            raise UnknownError(f"there is no verb {show(verb)}; {suggest(verb, self._verbs)}")
        service = self.service(name)
        if not self.running.is_ours(name):
            way = f"unset {redis_server.URL_VARIABLE}" if service.backing else "give it a run"
            raise ConflictError(
                f"{name} was there before the lab, which leaves it alone; {way} to have one of "
                "the lab's own"
            )
        async with self._turns[name]:
            await self._verbs[verb](service)
        return await self.service_status(service)

    def service(self, name: str) -> Service:
        """Return the service called *name*; `UnknownError` if there is none."""
        try:
            return self.running.system.service(name)
        except KeyError:
            names = [service.name for service in self.running.system.services]
            raise UnknownError(
                f"there is no service {show(name)} in {self.name}; {suggest(name, names)}"
            ) from None

    def log(self, name: str, *, from_byte: int | None = None) -> LogPart:
        """Return a service's log from *from_byte* on; without it, what fits of the end.

        Raises:
            UnknownError: there is no such service.
            UsageError: *from_byte* is negative.
        """
        if from_byte is not None and from_byte < 0:
            raise UsageError(f"from must be a position from 0, got {from_byte}")
        path = self._logs / f"{self.service(name).name}.log"
        if not path.exists():
            return LogPart(text="", next_byte=0)
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - LONGEST_LOG_BYTES) if from_byte is None else min(from_byte, size)
            file.seek(start)
            content = file.read(LONGEST_LOG_BYTES)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = decoder.decode(content)
        half_a_character, _ = decoder.getstate()
        return LogPart(text=text, next_byte=start + len(content) - len(half_a_character))

    def _held_by(self, service: Service) -> LiveFault | None:
        for live in self.faults.of(service.name):
            if live.fault.kind in _HELD:
                return live
        return None

    async def _take_away(self, kind: Literal["pause", "stop", "kill"], service: Service) -> None:
        state = self.state(service)
        if held := self._held_by(service):
            raise ConflictError(_held_already(held))
        if state == "ended":
            raise ConflictError(f"{service.name} has ended by itself; start it first")
        await self.faults.put_on(ProcessFault(kind=kind, service=service.name))

    async def _resume(self, service: Service) -> None:
        held = self._held_by(service)
        if held is None or held.fault.kind != "pause":
            raise ConflictError(f"{service.name} is not paused but {self.state(service)}")
        await self.faults.take_off(held.id)

    async def _start(self, service: Service) -> None:
        held = self._held_by(service)
        if held is not None and held.fault.kind in {"pause", "flap"}:
            raise ConflictError(_held_already(held))
        if held is not None:
            await self.faults.take_off(held.id)
        elif self.state(service) == "running":
            raise ConflictError(f"{service.name} runs already")
        else:
            await self.running.start(service)

    async def _restart(self, service: Service) -> None:
        if held := self._held_by(service):
            if held.fault.kind == "flap":
                raise ConflictError(_held_already(held))
            await self.faults.take_off(held.id)
            if held.fault.kind != "pause":
                return  # it has just been started
        await self.running.stop(service.name)
        await self.running.start(service)

    async def _breaker(self, service: Service) -> str | None:
        """Return the state of the breaker that the service counts its attempts beside, if any."""
        if service.attempts is None:
            return None
        url = self.running.url(service.name) + service.attempts.path
        try:
            answer = await ask(self.running.http, "GET", url, within_s=BREAKER_WITHIN_S)
        except NoAnswerError:
            return None
        state = answer.field(BREAKER_FIELD)
        return state if isinstance(state, str) else None


def _held_already(held: LiveFault) -> str:
    state, way_back = _HELD[held.fault.kind]
    return f"{held.fault.service} is {state} already ({held.id}); {way_back} first"


async def fault_status(live: LiveFault) -> Document:
    """Return what is known of one fault, as `GET /status` and `POST /faults` tell it."""
    now = datetime.now(UTC)
    left_s = None if live.until is None else max(0.0, (live.until - now).total_seconds())
    async with asyncio.TaskGroup() as group:
        is_on, touched = group.create_task(live.is_on()), group.create_task(live.touched())
    return {
        "id": live.id,
        "kind": live.fault.kind,
        "service": live.fault.service,
        "fields": fields_of(live),
        "since": _wire_time(live.since),
        "until": live.until and _wire_time(live.until),
        "leftS": None if left_s is None else round(left_s, 3),
        "leaseS": LEASE_S if isinstance(live.fault, LEASED) else None,
        "on": is_on.result(),
        "touched": touched.result(),
    }


def fields_of(live: LiveFault) -> Document:
    """Return how the fault was set, beside its kind and its service."""
    if isinstance(live.fault, LEASED):
        return dict(live.fault.document)
    return {
        name: value for name, value in plain(live.fault).items() if name not in {"kind", "service"}
    }


def _wire_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
