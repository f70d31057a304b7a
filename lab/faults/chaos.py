"""A fault that the service makes itself, renewed under a lease while the lab lives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx

from lab.errors import NoValidData
from lab.experiment import ChaosFault
from lab.running import RunningSystem

LEASE_S = 5.0
RENEW_EVERY_S = 1.5
REVERT_S = 3.0


@asynccontextmanager
async def chaos_fault(
    fault: ChaosFault, system: RunningSystem, *, seed: int
) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Switch the fault on, keep its lease, and switch it off at the end.

    Raises:
        NoValidData: the injector refuses the document or does not answer.
    """
    url = _injector(system, fault.service)
    document = {"seed": seed} | dict(fault.document) | {"ttlS": LEASE_S}
    await _switch_on(system.http, url, document)
    renewal = asyncio.create_task(_renew(system.http, url))
    try:
        yield lambda: _is_on(system, url)
    finally:
        renewal.cancel()
        await asyncio.wait({renewal})
        await _switch_off(system.http, url)


async def _switch_on(http: httpx.AsyncClient, url: str, document: dict[str, object]) -> None:
    try:
        reply = await http.post(url, json=document, timeout=REVERT_S)
    except httpx.HTTPError as failure:
        raise NoValidData(f"the fault injector at {url} does not answer: {failure!r}") from failure
    if reply.is_error:
        raise NoValidData(f"the fault injector at {url} refused {document}: {reply.text[:300]}")
    if not _says_on(reply):
        raise NoValidData(f"the fault {document} has no effect, says {url}; give it one")


async def _renew(http: httpx.AsyncClient, url: str) -> None:
    """Renew the lease for ever; a missed renewal shows in the check after the run."""
    while True:
        await asyncio.sleep(RENEW_EVERY_S)
        with suppress(httpx.HTTPError):
            await http.patch(url, json={"ttlS": LEASE_S}, timeout=RENEW_EVERY_S)


async def is_off(system: RunningSystem, service: str) -> bool:
    """Tell whether the service's injector answers that nothing is on."""
    reply = await _look(system.http, _injector(system, service))
    return reply is not None and reply.is_success and not _says_on(reply)


async def _is_on(system: RunningSystem, url: str) -> bool:
    reply = await _look(system.http, url)
    return reply is not None and _says_on(reply)


async def _look(http: httpx.AsyncClient, url: str) -> httpx.Response | None:
    try:
        return await http.get(url, timeout=REVERT_S)
    except httpx.HTTPError:
        return None


def _injector(system: RunningSystem, service: str) -> str:
    return system.url(service) + (system.system.service(service).chaos or "/chaos")


def _says_on(reply: httpx.Response) -> bool:
    try:
        return bool(reply.is_success and reply.json()["on"])
    except (ValueError, KeyError, TypeError):
        return False


async def _switch_off(http: httpx.AsyncClient, url: str) -> None:
    """Clear the fault; where the service cannot be reached the lease ends it instead."""
    with suppress(httpx.HTTPError):
        await http.delete(url, timeout=REVERT_S)
