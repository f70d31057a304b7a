"""`lab up`: brings a system up as `run` does, and keeps it up until Ctrl-C or SIGTERM."""

import asyncio
import random
import socket
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from console import OutputError, complain, say
from lab import redis_server
from lab.errors import NoValidData, UsageError
from lab.hosts import check_hosts
from lab.interrupt import INTERRUPTED, run_until_signal
from lab.last_words import last_words
from lab.reports.terminal import as_text
from lab.results.record import ResultFolder
from lab.running import RunningSystem, bring_up
from lab.spec.problems import Wrong
from lab.spec.system import LINK_EXAMPLE, Link, System, read_link, read_system
from lab.up.api import Api
from lab.up.live_faults import LiveFault, live_faults
from lab.up.live_system import LiveSystem, fields_of
from lab.up.locust_ui import LocustUi, check_locust, locust_ui
from lab.up.sockets import claimed, socket_of
from lab.up.tables import fields_in_words, links_table, services_table
from service_defaults.server import served

LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What `lab up` was asked for."""

    file: Path
    name: str | None
    out: Path
    seed: int | None
    links: Sequence[str] = ()  # where a proxy is to be put
    allowed_hosts: Sequence[str] = ()  # beside this machine
    locust: bool = False  # whether its web UI is to stand beside the system
    locust_port: int | None = None  # of the web UI; None: a free one


def up_command(options: UpOptions) -> int:
    """Keep the system up until a signal comes; return the exit code.

    Raises:
        UsageError: a file or an option is wrong, or a system of that name is up; nothing was
            started.
    """
    system = read_system(options.file)
    check_hosts(system, options.allowed_hosts)
    links = _links(options.links, system)
    if any(service.backing == "redis" for service in system.services):
        redis_server.url_of_running_server()  # refuses a wrong one now, before anything starts
    if options.locust:
        check_locust(system, options.locust_port)
    name = options.name or system.path.stem
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    with claimed(name) as listener:
        folder = ResultFolder.create(options.out, f"up-{name}", datetime.now(UTC))
        return run_until_signal(
            _Stay(name, system, folder, links=links, seed=seed, options=options).run(listener)
        )


def _links(texts: Sequence[str], system: System) -> tuple[Link, ...]:
    try:
        return tuple(dict.fromkeys(read_link(text, system) for text in texts))
    except Wrong as wrong:
        advice = wrong.advice or f"write e.g. --link '{LINK_EXAMPLE}'"
        raise UsageError(f"--link {wrong.what}; {advice}") from None


class _Stay:
    """One system from coming up to going down."""

    def __init__(
        self,
        name: str,
        system: System,
        folder: ResultFolder,
        *,
        links: Sequence[Link],
        seed: int,
        options: UpOptions,
    ) -> None:
        self._options = options
        self._name = name
        self._system = system
        self._folder = folder
        self._chance = random.Random(seed)
        self._seed = seed
        self._links = links

    async def run(self, listener: socket.socket) -> int:
        """Return the exit code: INTERRUPTED after a signal, 3 with a message after a failure."""
        api = Api(self._name)
        names = ", ".join(service.name for service in self._system.services)
        complain(f"starting {names}; logs and events: {self._folder.path}")
        try:
            async with (
                served(api.app(), listener),
                bring_up(self._system, self._folder.logs, self._links) as running,
                live_faults(running, self._chance, self._note) as faults,
            ):
                live = LiveSystem(self._name, running, faults, self._folder.logs)
                api.open(live)
                self._folder.add_event("system.up", seed=self._seed)
                async with self._locust(running) as locust:
                    if locust is not None:
                        self._folder.add_event("locust.up", url=locust.url, log=str(locust.log))
                    await _show(live, locust)
                    try:
                        await _watch(running, locust)
                    except asyncio.CancelledError:
                        _take_as_the_usual_end()
                    api.close()
                    complain("going down, faults first")
        except NoValidData as failure:
            self._folder.add_event("system.failed", why=str(failure))
            complain(str(failure))
            return NoValidData.exit_code
        self._folder.add_event("system.down")
        complain(f"{self._name} is down; what it wrote is in {self._folder.path}")
        return INTERRUPTED

    def _locust(self, running: RunningSystem) -> AbstractAsyncContextManager[LocustUi | None]:
        if not self._options.locust:
            return nullcontext()
        return locust_ui(
            running,
            port=self._options.locust_port,
            folder=self._folder.path / "locust",
            control=socket_of(self._name),
        )

    def _note(self, event: str, live: LiveFault) -> None:
        how = fields_in_words(fields_of(live))
        fault = {"id": live.id, "kind": live.fault.kind, "service": live.fault.service}
        trouble = {"trouble": live.trouble} if live.trouble else {}
        self._folder.add_event(event, **fault, fields=fields_of(live), **trouble)
        words = f"{event} {live.id}: {live.fault.kind} {live.fault.service} {how}".rstrip()
        complain(f"{words}; {live.trouble}" if live.trouble else words)


def _take_as_the_usual_end() -> None:
    """Let a signal end the stay rather than the clean-up after it; a second one ends that too."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    task.uncancel()


async def _show(live: LiveSystem, locust: LocustUi | None) -> None:
    services = [await live.service_status(each) for each in live.running.system.services]
    with suppress(OutputError):  # nobody reads
        say(as_text(services_table(services)))
        if links := live.links_status():
            say(as_text(links_table(links)))
        if locust is not None:
            say(f"\nload {locust.target}:  {locust.url}\nfaults:  {locust.chaos_url}")
        say(
            f"\n{live.name} is up; Ctrl-C brings it down. From another terminal:\n"
            "  python -m lab status\n"
            "  python -m lab chaos SERVICE failure=0.3 delay=500ms --for 30s\n"
            "  python -m lab stop|start|pause|resume|kill|restart SERVICE\n"
            "  python -m lab logs SERVICE -f"
        )


async def _watch(running: RunningSystem, locust: LocustUi | None) -> None:
    """Tell of services, and of Locust, that end by themselves, for ever.

    Raises:
        NoValidData: all were lost.
    """
    told: set[int] = set()
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if locust is not None and locust.process.exit_code is not None:
            code = locust.process.exit_code
            complain(f"Locust ended by itself with code {code}; {last_words(locust.log)}")
            locust = None
        for name in running.dead_services():
            process = running.process(name)
            if process is not None and process.number not in told:
                told.add(process.number)
                complain(
                    f"{name} ended by itself with code {process.exit_code}; bring it back with: "
                    f"python -m lab start {name}"
                )
