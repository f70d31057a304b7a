"""A fault that the service makes itself, renewed under a lease while the lab lives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import httpx

from lab.control import NoAnswerError, ask
from lab.errors import NoValidData
from lab.faults.still_on import StillOn
from lab.running import RunningSystem
from lab.spec.fault_documents import ChaosFault

LEASE_S = 5.0
RENEW_EVERY_S = 1.5
ANSWER_S = 3.0


@asynccontextmanager
async def chaos_fault(
    fault: ChaosFault, system: RunningSystem, *, seed: int, persistent: bool = False
) -> AsyncIterator[StillOn]:
    """Switch the fault on, keep its lease, and switch it off at the end.

    Args:
        fault: which, and where.
        system: its services.
        seed: of the injector's dice.
        persistent: whether to switch it on again where the service has forgotten it, restarted
            or paused beyond the lease; an experiment would rather hear of that.

    Raises:
        NoValidData: the injector refuses the document or does not answer.
    """
    url = _injector(system, fault.service)
    document = {"seed": seed} | dict(fault.document) | {"ttlS": LEASE_S}
    await _switch_on(system.http, url, document)
    again = document if persistent else None
    renewal = asyncio.create_task(_renew(system.http, url, again))
    try:
        yield lambda: _is_on(system.http, url)
    finally:
        renewal.cancel()
        await asyncio.wait({renewal})
        await _switch_off(system.http, url)


async def is_off(system: RunningSystem, service: str) -> bool:
    """Tell whether the service's injector answers that nothing is on."""
    return await _says_on(system.http, _injector(system, service)) is False


async def _is_on(http: httpx.AsyncClient, url: str) -> bool:
    return await _says_on(http, url) is True


async def _says_on(http: httpx.AsyncClient, url: str) -> object:
    """Return what the injector says of `on`; None if it says nothing."""
    try:
        answer = await ask(http, "GET", url, within_s=ANSWER_S)
    except NoAnswerError:
        return None
    return answer.field("on") if answer.is_ok else None


async def _switch_on(http: httpx.AsyncClient, url: str, document: dict[str, object]) -> None:
    try:
        answer = await ask(http, "POST", url, within_s=ANSWER_S, document=document)
    except NoAnswerError as failure:
        raise NoValidData(f"the fault injector at {url} does not answer: {failure}") from failure
    if not answer.is_ok:
        why = answer.body[:300].decode(errors="replace")
        raise NoValidData(f"the fault injector at {url} refused {document}: {why}")
    if answer.field("on") is not True:
        raise NoValidData(f"the fault {document} has no effect, says {url}; give it one")


async def _renew(http: httpx.AsyncClient, url: str, again: dict[str, object] | None) -> None:
    """Renew the lease for ever; a missed renewal shows in the check after the run."""
    while True:
        await asyncio.sleep(RENEW_EVERY_S)
        with suppress(NoAnswerError):
            lease: dict[str, object] = {"ttlS": LEASE_S}
            answer = await ask(http, "PATCH", url, within_s=RENEW_EVERY_S, document=lease)
            if answer.status == HTTPStatus.CONFLICT and again is not None:
                await ask(http, "POST", url, within_s=RENEW_EVERY_S, document=again)


async def _switch_off(http: httpx.AsyncClient, url: str) -> None:
    """Clear the fault; where the service cannot be reached the lease ends it instead."""
    with suppress(NoAnswerError):
        await ask(http, "DELETE", url, within_s=ANSWER_S)


def _injector(system: RunningSystem, service: str) -> str:
    return system.url(service) + (system.system.service(service).chaos or "/chaos")
