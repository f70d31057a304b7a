"""A system brought up: each service on its port, ready, and stopped again."""

import asyncio
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from lab import redis_server
from lab.addresses import addresses_of
from lab.environment import service_environment
from lab.errors import NoValidData
from lab.injector import Injector
from lab.keeper import Keeper, KeeperError, OwnedProcess
from lab.last_words import last_words
from lab.links.place import Place
from lab.links.places import Places, Site, placed_on
from lab.links.routes import seen_from
from lab.readiness import Probe, http_probe, redis_probe, tcp_probe
from lab.spec.system import LOAD, Link, Service, System
from lab.templates import fill

STOP_GRACE_S = 5.0
PROBE_EVERY_S = 0.02
LOOK = {"X-Chaos-Exempt": "lab"}  # the lab's own questions are not what its faults are for

Environment = Mapping[str, Mapping[str, str]]  # service name -> variables on top of its own


class RunningSystem:
    """The services of one system; `bring_up` makes one and takes it down."""

    def __init__(self, site: Site, places: Places) -> None:
        self.system = site.system
        self.places = places
        self.http = site.http
        self._keeper = site.keeper
        self._logs = site.logs
        self._processes: dict[str, OwnedProcess] = {}
        self._environment: Environment = {}
        self._values = {"python": sys.executable} | dict(site.addresses)
        self.injectors = {
            service.name: Injector(
                service.name,
                self.url(service.name) + service.chaos,
                http=site.http,
                fresh_http=site.fresh_http,
            )
            for service in site.system.services
            if service.chaos
        }

    def url(self, name: str) -> str:
        """Return the base URL of a service itself, without a slash at its end."""
        return self._values[f"{name}.url"]

    def expand(self, template: str, *, source: str = LOAD) -> str:
        """Fill in `{name.url}` and `{name.port}` of services, as *source* is to reach them."""
        return fill(template, seen_from(source, self._values, self.places))

    def place(self, link: Link) -> Place:
        """Return what can make *link* sick; `NoValidData` if nothing was put there."""
        if link not in self.places:
            raise NoValidData(
                f"the calls of {link} go straight; start the system with --link '{link}' to lead "
                "them through a proxy"
            )
        return self.places[link]

    def process(self, name: str) -> OwnedProcess | None:
        """Return the process of a service; None while it is stopped or if it is not ours."""
        return self._processes.get(name)

    def own_process(self, name: str) -> OwnedProcess:
        """Return the process of a service, for something to be done to it.

        Raises:
            NoValidData: it is stopped, or it is a server that the lab did not start.
        """
        if process := self._processes.get(name):
            return process
        if self.system.service(name).url:
            raise NoValidData(f"{name} at {self.url(name)} is not the lab's own; leave it alone")
        if not self.is_ours(name):
            raise NoValidData(
                f"{name} at {redis_server.without_password(self.url(name))} is not the lab's own; "
                f"unset {redis_server.URL_VARIABLE} to have one started that may be made sick"
            )
        raise NoValidData(f"{name} has no process now; start it first")

    def is_ours(self, name: str) -> bool:
        """Tell whether the lab starts the service, rather than finding it there."""
        service = self.system.service(name)
        if service.backing:
            return not redis_server.url_of_running_server()
        return service.run is not None

    async def start_all(self) -> None:
        """Start every service that has no process, each once those that it needs are ready.

        Raises:
            NoValidData: a service ended early or was not ready in time.
        """
        for service in self.system.services:
            await self.start(service)

    async def restart_all(self, environment: Environment) -> None:
        """Bring all processes of ours to the state of a fresh start; backing servers run on."""
        ours = [service.name for service in self.system.services if service.run]
        await self._stop_each(ours)
        self._environment = environment
        await self.start_all()

    async def start(self, service: Service) -> None:
        """Start one service, unless it runs, and wait until it is ready."""
        process = self._processes.get(service.name)
        if process is None or process.exit_code is not None:
            process = await self._start_process(service)
        await self._wait_until_ready(service, process)

    async def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the processes of a service."""
        await self._keeper.signal(self.own_process(name), number)

    async def stop(self, name: str) -> None:
        """Terminate a service's process, by force after STOP_GRACE_S."""
        if process := self._processes.pop(name, None):
            await self._keeper.stop(process, grace_s=STOP_GRACE_S)

    async def kill(self, name: str) -> None:
        """Kill a service's processes and wait until they are gone."""
        process = self.own_process(name)
        del self._processes[name]  # first, lest it be taken for one that ended by itself
        await self._keeper.signal(process, signal.SIGKILL)
        await process.wait()

    async def start_beside(self, name: str, label: str, argv: Sequence[str]) -> OwnedProcess:
        """Start a neighbour of a service, which ends with the lab like the services themselves.

        Args:
            name: of the service.
            label: what the neighbour is, for the name of its log.
            argv: its command.

        Raises:
            KeeperError: it cannot be run.
        """
        return await self._keeper.start(
            argv,
            env=service_environment({}, self.system.service(name).inherit),
            cwd=Path.cwd(),
            log=self.log(f"{name}.{label}"),
        )

    async def start_tool(
        self, label: str, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path
    ) -> OwnedProcess:
        """Start a program for whoever uses the system, which ends with the lab too.

        Args:
            label: what it is, for the name of its log.
            argv: its command.
            env: variables beside the few that every service gets.
            cwd: its current folder.

        Raises:
            KeeperError: it cannot be run.
        """
        return await self._keeper.start(
            argv, env=service_environment(env, ()), cwd=cwd, log=self.log(label)
        )

    async def end_tool(self, process: OwnedProcess) -> None:
        """Terminate a tool, by force after STOP_GRACE_S."""
        with suppress(KeeperError):  # then the keeper has taken it along
            await self._keeper.stop(process, grace_s=STOP_GRACE_S)

    def log(self, label: str) -> Path:
        """Return the log of a service or a tool."""
        return self._logs / f"{label}.log"

    async def end_beside(self, process: OwnedProcess) -> None:
        """Kill a neighbour and wait until it is gone."""
        with suppress(KeeperError):  # then the keeper has taken it along
            await self._keeper.signal(process, signal.SIGKILL)
            await process.wait()

    def dead_services(self) -> list[str]:
        """Return the names of services that ended on their own; `NoValidData` if all were lost."""
        self._keeper.check()
        return [name for name, process in self._processes.items() if process.exit_code is not None]

    def is_paused(self, name: str) -> bool | None:
        """Tell whether a service's process is held by SIGSTOP; None where the system cannot say."""
        return self._processes[name].is_stopped()

    def can_be_asked(self, name: str) -> bool:
        """Tell whether a service may answer now: it is neither stopped nor held by SIGSTOP."""
        process = self._processes.get(name)
        if process is None:
            return not self.is_ours(name)
        return process.exit_code is None and not process.is_stopped()

    async def answers(self, name: str) -> bool:
        """Tell whether something accepts connections on the service's port."""
        return await self._tcp_probe(name)()

    async def stop_all(self) -> None:
        """Stop all processes, those first that need others."""
        for service in reversed(self.system.services):
            await self.stop(service.name)

    async def _stop_each(self, names: Iterable[str]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for name in names:
                    group.create_task(self.stop(name))
        except* KeeperError as failures:
            raise NoValidData(str(failures.exceptions[0])) from failures

    async def _start_process(self, service: Service) -> OwnedProcess | None:
        argv = self._command(service)
        if argv is None:
            return None
        extra = dict(service.env) | dict(self._environment.get(service.name, {}))
        environment = {
            name: self.expand(value, source=service.name) for name, value in extra.items()
        }
        try:
            process = await self._keeper.start(
                argv,
                env=service_environment(environment, service.inherit),
                cwd=Path.cwd(),
                log=self.log(service.name),
            )
        except KeeperError as failure:
            raise NoValidData(f"service {service.name}: {failure}") from failure
        self._processes[service.name] = process
        if injector := self.injectors.get(service.name):
            injector.forget()
        return process

    def _command(self, service: Service) -> list[str] | None:
        """Return what to run, or None where a server that is already there is used."""
        port = self._values[f"{service.name}.port"]
        if service.run:
            values = seen_from(service.name, self._values, self.places) | {"port": port}
            return [fill(word, values) for word in shlex.split(service.run)]
        if service.url or redis_server.url_of_running_server():
            return None
        return redis_server.command_line(int(port))

    async def _wait_until_ready(self, service: Service, process: OwnedProcess | None) -> None:
        probe = self._probe(service)
        try:
            async with asyncio.timeout(service.ready_timeout_s):
                while not await probe():
                    if process is not None and process.exit_code is not None:
                        raise NoValidData(self._early_end(service, process.exit_code))
                    await asyncio.sleep(PROBE_EVERY_S)
        except TimeoutError:
            raise NoValidData(self._not_ready(service)) from None

    def _probe(self, service: Service) -> Probe:
        if service.backing == "redis":
            return redis_probe(self.url(service.name))
        if service.ready is None:
            return self._tcp_probe(service.name)
        return http_probe(self.http, self.url(service.name) + service.ready)

    def _tcp_probe(self, name: str) -> Probe:
        host = urlsplit(self.url(name)).hostname or "127.0.0.1"
        return tcp_probe(host, int(self._values[f"{name}.port"]))

    def _early_end(self, service: Service, exit_code: int) -> str:
        return (
            f"service {service.name} ended with code {exit_code} before it was ready; "
            f"{last_words(self.log(service.name))}"
        )

    def _not_ready(self, service: Service) -> str:
        where = self.url(service.name) + (service.ready or "")
        if service.backing and (url := redis_server.url_of_running_server()):
            shown = redis_server.without_password(url)
            return f"no Redis answers at {redis_server.URL_VARIABLE}={shown}; start it or unset it"
        if service.url:
            return (
                f"service {service.name} was not ready at {where} after "
                f"{service.ready_timeout_s:g} s; start it, or correct its url or ready"
            )
        return (
            f"service {service.name} was not ready at {where} after {service.ready_timeout_s:g} s; "
            f"{last_words(self.log(service.name))}"
        )


@asynccontextmanager
async def bring_up(
    system: System, logs: Path, links: Collection[Link] = ()
) -> AsyncIterator[RunningSystem]:
    """Start all services of *system*; when the block ends, however it ends, none is left.

    Args:
        system: as its file says.
        logs: an existing folder, for one log file a service.
        links: those that shall be led through what can make them sick.

    Raises:
        NoValidData: a service would not start or become ready.
    """
    none_kept = httpx.Limits(max_keepalive_connections=0)
    async with (
        Keeper() as keeper,
        httpx.AsyncClient(trust_env=False, headers=LOOK) as http,
        httpx.AsyncClient(trust_env=False, headers=LOOK, limits=none_kept) as fresh_http,
    ):
        site = Site(
            system=system,
            addresses=addresses_of(system),
            keeper=keeper,
            http=http,
            fresh_http=fresh_http,
            logs=logs,
        )
        async with placed_on(links, site) as places:
            running = RunningSystem(site, places)
            await running.start_all()
            yield running
            await running.stop_all()
