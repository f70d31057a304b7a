"""Puts a place on each link that is wanted, and takes all away at the end."""

import asyncio
import random
import sys
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.control import NoAnswerError, ask
from lab.environment import service_environment
from lab.errors import NoValidData
from lab.keeper import Keeper, OwnedProcess
from lab.links.place import Place
from lab.links.proxy import ProxyPlace
from lab.links.routes import upstream_of
from lab.links.toxiproxy import ToxiproxyPlace
from lab.ports import free_port
from lab.spec.system import LOAD, Link, System

READY_S = 15.0
LOOK_EVERY_S = 0.02
GOODBYE_S = 5.0
Places = Mapping[Link, Place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The system that links belong to, and what it takes to start something beside it."""

    system: System
    addresses: Mapping[str, str]  # `rates.url`, `rates.port`, ...
    keeper: Keeper
    http: httpx.AsyncClient
    fresh_http: httpx.AsyncClient  # with a connection for each question
    logs: Path


@asynccontextmanager
async def placed_on(links: Collection[Link], site: Site) -> AsyncIterator[Places]:
    """Yield a place on each link; when the block ends, however it ends, none is left.

    Raises:
        NoValidData: one cannot be had.
    """
    if not links:
        yield {}
    elif site.system.toxiproxy:
        async with _in_toxiproxy(site.system.toxiproxy, links, site) as places:
            yield places
    else:
        yield await _proxies(links, site)  # the keeper ends them


async def _proxies(links: Collection[Link], site: Site) -> Places:
    taken = {int(value) for value in site.addresses.values() if value.isdecimal()}
    chance = random.SystemRandom()
    places = {}
    try:
        async with asyncio.TaskGroup() as group:
            for link in links:
                ports = []
                for _ in range(2):
                    ports.append(free_port(taken, chance))
                    taken.add(ports[-1])
                places[link] = ProxyPlace(site.http, port=ports[0], control_port=ports[1])
                group.create_task(_start(link, site, *ports))
    except* NoValidData as failures:
        raise NoValidData(str(failures.exceptions[0])) from failures
    return places


async def _start(link: Link, site: Site, port: int, control_port: int) -> None:
    log = site.logs / f"{link.source}-{link.target}.proxy.log"
    process = await site.keeper.start(
        [
            sys.executable,
            *("-m", "fault_proxy"),
            *("--listen", f"127.0.0.1:{port}"),
            *("--upstream", upstream_of(link, site.addresses)),
            *("--control", f"127.0.0.1:{control_port}"),
        ],
        env=service_environment({}, _inherited(link, site.system)),
        cwd=Path.cwd(),
        log=log,
    )
    await _until_ready(f"http://127.0.0.1:{control_port}/stats", process, link, site.http, log)


def _inherited(link: Link, system: System) -> set[str]:
    ends = [link.target] if link.source == LOAD else [link.source, link.target]
    return {name for end in ends for name in system.service(end).inherit}


async def _until_ready(
    url: str, process: OwnedProcess, link: Link, http: httpx.AsyncClient, log: Path
) -> None:
    try:
        async with asyncio.timeout(READY_S):
            while not await _answers(http, url):
                if process.exit_code is not None:
                    raise NoValidData(f"the proxy on {link} ended before it was ready; see {log}")
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise NoValidData(
            f"the proxy on {link} was not ready after {READY_S:g} s; see {log}"
        ) from None


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await ask(http, "GET", url, within_s=1.0)).is_ok
    except NoAnswerError:
        return False


@asynccontextmanager
async def _in_toxiproxy(server: str, links: Collection[Link], site: Site) -> AsyncIterator[Places]:
    run = uuid.uuid4().hex[:8]
    names = {link: f"lab-{run}-{link.source}-{link.target}" for link in links}
    guard = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "lab.links.toxiproxy_guard", server, *names.values()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is for the lab alone
    )
    assert guard.stdin is not None  # noqa: S101 - it was asked for
    assert guard.stdout is not None  # noqa: S101 - it was asked for
    try:
        await guard.stdout.readline()  # it listens
        places = {}
        for link, name in names.items():
            places[link] = ToxiproxyPlace(site.http, server, name)
            await places[link].make(upstream_of(link, site.addresses))
        yield places
    finally:
        guard.stdin.close()
        async with asyncio.timeout(GOODBYE_S):
            await guard.wait()
