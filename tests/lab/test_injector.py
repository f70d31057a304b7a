"""What the lab makes of an injector's answers: whose fault is on, and is it one of several?"""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from chaos import ChaosDocument, ChaosMiddleware
from lab.errors import NoValidData
from lab.injector import FIELDS, Injector
from lab.results.touches import Touches

HALF = {"failure": 0.5, "seed": 7, "ttlS": 5.0}
URL = "http://rates/chaos"


def service() -> ASGIApp:
    def answer(_: Request) -> JSONResponse:
        return JSONResponse({"code": "USD"})

    return ChaosMiddleware(Starlette(routes=[Route("/rates", answer)]), enabled=True)


class InTurn:
    """A port that hands each connection, or question, to the next of some processes."""

    def __init__(self, *apps: ASGIApp) -> None:
        self._apps = itertools.cycle(apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the question on."""
        await next(self._apps)(scope, receive, send)


class Foreign:
    """An injector of another make: it takes the document, and tells that and no more."""

    def __init__(self, *, tells: bool = True) -> None:
        self._fault: dict[str, object] = {}
        self._tells = tells

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as `/chaos` does."""
        request = Request(scope, receive)
        if request.method == "POST":
            self._fault = await request.json()
        if request.method == "DELETE":
            self._fault = {}
        told = self._fault if self._tells else {}
        await JSONResponse({"on": bool(self._fault), **told})(scope, receive, send)


@asynccontextmanager
async def asked_through(app: ASGIApp) -> AsyncIterator[tuple[Injector, httpx.AsyncClient]]:
    """Yield the lab's injector of *app*, and the client of somebody else."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        yield Injector("rates", URL, http=client, fresh_http=client), client


def test_the_fields_that_are_compared_are_those_of_a_document() -> None:
    wire = {field.alias for field in ChaosDocument.model_fields.values()}

    assert set(FIELDS) | {"ttlS"} == wire


async def test_the_labs_own_fault_is_nobody_elses() -> None:
    async with asked_through(service()) as (injector, client):
        assert await injector.foreign_faults() == ""
        await injector.put_on(HALF)
        await client.get("http://rates/rates")
        await injector.renew(9.0, within_s=1.0)

        assert await injector.is_active()
        assert await injector.foreign_faults() == ""
        assert await injector.touches() == Touches(touched=1, hit=1, met=1)

        await injector.take_off()
        assert await injector.is_off()
        assert await injector.foreign_faults() == ""
        assert await injector.touches() is None


async def test_a_foreign_fault_is_named_with_what_it_does() -> None:
    async with asked_through(service()) as (injector, client):
        await client.post(URL, json={"failure": 1, "delayMs": 20})

        said = "somebody else's fault is on at rates (failure=1.0, delayMs=20.0)"
        assert await injector.foreign_faults() == await injector.foreign_faults() == said


@pytest.mark.parametrize("own", [None, HALF], ids=["none of ours", "beside ours"])
async def test_a_foreign_fault_that_has_come_and_gone_is_told_once(
    own: dict[str, object] | None,
) -> None:
    async with asked_through(service()) as (injector, client):
        await injector.foreign_faults()
        if own:
            await injector.put_on(own)
        await client.post(URL, json={"failure": 1})
        await (client.post(URL, json=own) if own else client.delete(URL))

        assert await injector.foreign_faults() == "somebody else has put a fault on at rates"
        assert await injector.foreign_faults() == ""


async def test_a_fault_put_on_over_a_foreign_one_is_told_of_too() -> None:
    async with asked_through(service()) as (injector, client):
        await injector.foreign_faults()
        await client.post(URL, json={"failure": 1})
        await injector.put_on(HALF)

        assert await injector.foreign_faults() == "somebody else has put a fault on at rates"


async def test_a_fault_in_place_of_the_labs_is_not_the_labs() -> None:
    async with asked_through(service()) as (injector, client):
        await injector.put_on(HALF)
        await client.post(URL, json={"failure": 0.5, "seed": 8})

        assert not await injector.is_active()
        assert "somebody else's fault is on at rates" in await injector.foreign_faults()


async def test_a_fault_that_somebody_cleared_is_off_and_not_foreign() -> None:
    async with asked_through(service()) as (injector, client):
        await injector.put_on(HALF)
        await client.delete(URL)

        assert not await injector.is_active()
        assert await injector.foreign_faults() == ""


async def test_a_new_process_has_an_injector_of_its_own() -> None:
    async with asked_through(InTurn(service(), service())) as (injector, _):
        for _ in range(4):
            await injector.foreign_faults()
            injector.forget()
        assert await injector.foreign_faults() == ""


async def test_a_fault_without_effect_is_on_as_asked_and_touches_nothing() -> None:
    async with asked_through(service()) as (injector, _):
        await injector.put_on({"failure": 0, "seed": 1, "ttlS": 5.0}, has_effect=False)

        assert await injector.is_active()
        assert await injector.touches() == Touches(touched=0)
        assert await injector.foreign_faults() == ""


async def test_a_fault_that_the_injector_takes_for_none_is_refused() -> None:
    async with asked_through(service()) as (injector, _):
        with pytest.raises(NoValidData, match="has no effect"):
            await injector.put_on({"failure": 0})


@pytest.mark.parametrize(
    "make", [service, Foreign, lambda: Foreign(tells=False)], ids=["named", "unnamed", "silent"]
)
async def test_several_injectors_behind_one_port_are_refused(make: Callable[[], ASGIApp]) -> None:
    async with asked_through(InTurn(make(), make(), make())) as (injector, _):
        with pytest.raises(NoValidData, match="run it with one worker, or start each worker as"):
            await injector.put_on(HALF)


async def test_a_second_process_that_comes_up_late_ends_the_run() -> None:
    processes: list[ASGIApp] = [service()]
    turns = itertools.count()

    async def port(scope: Scope, receive: Receive, send: Send) -> None:
        await processes[next(turns) % len(processes)](scope, receive, send)

    async with asked_through(port) as (injector, _):
        await injector.put_on(HALF)
        assert await injector.foreign_faults() == ""
        processes.append(service())

        with pytest.raises(NoValidData, match="several processes answer for rates"):
            await injector.foreign_faults()


@pytest.mark.parametrize("tells", [True, False])
async def test_an_injector_of_another_make_is_compared_as_far_as_it_tells(*, tells: bool) -> None:
    async with asked_through(Foreign(tells=tells)) as (injector, client):
        assert await injector.foreign_faults() == ""
        await injector.put_on(HALF)
        assert await injector.is_active()
        assert await injector.foreign_faults() == ""
        assert await injector.touches() is None

        await client.post(URL, json={"failure": 1, "ttlS": 5.0})
        assert bool(await injector.foreign_faults()) is tells
        assert await injector.is_active() is not tells


async def test_a_service_that_does_not_answer_has_nothing_to_tell() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        injector = Injector("rates", URL, http=client, fresh_http=client)

        assert await injector.foreign_faults() == ""
        assert await injector.touches() is None
        with pytest.raises(NoValidData, match="does not answer"):
            await injector.put_on(HALF)
