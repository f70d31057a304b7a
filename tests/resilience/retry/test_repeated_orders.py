"""How often a server that counts its orders gets one, by a client that repeats or does not."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from resilience import (
    Fallback,
    HedgeSettings,
    Policies,
    RetrySettings,
    StaleConnection,
)
from tests.resilience.peers import read_request, scripted_peer
from tests.resilience.wire.one_source import AT_ONCE, client_of

HANGS_UP = 0
BUT_TOO_MANY = RetrySettings(max_retries=2, base_delay_s=0, repeat_non_idempotent_on={429})
NEVER = RetrySettings(max_retries=2, base_delay_s=0, repeat_non_idempotent_on=())
ON_500 = RetrySettings(max_retries=2, base_delay_s=0, repeat_non_idempotent_on=[500])


@dataclass
class Shop:
    """Takes each request for an order and acts on it, whatever it answers then.

    Attributes:
        answers: One for each request; the last for all that follow. `HANGS_UP` is none at all.
        url: Where it is.
        orders: How many it has got.
    """

    answers: list[int]
    url: str = ""
    orders: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while await read_request(reader):
            status = self.answers[min(self.orders, len(self.answers) - 1)]
            self.orders += 1
            if status == HANGS_UP:
                return
            writer.write(b"HTTP/1.1 %d Said\r\nContent-Length: 0\r\n\r\n" % status)
            await writer.drain()


@asynccontextmanager
async def shop(*answers: int) -> AsyncIterator[Shop]:
    """Run a shop."""
    opened = Shop(list(answers))
    async with scripted_peer(opened.serve) as opened.url:
        yield opened


@pytest.mark.parametrize(
    ("retry", "answers", "orders"),
    [
        (AT_ONCE, [429, 201], 2),
        (AT_ONCE, [503, 201], 2),  # by a proxy, maybe, that lost the shop after it had acted
        (AT_ONCE, [408, 201], 1),
        (AT_ONCE, [500, 201], 1),
        (AT_ONCE, [502, 201], 1),
        (AT_ONCE, [504, 201], 1),
        (BUT_TOO_MANY, [503, 201], 1),
        (BUT_TOO_MANY, [429, 201], 2),
        (BUT_TOO_MANY, [429, 503, 201], 2),
        (NEVER, [429, 201], 1),
        (NEVER, [503, 201], 1),
        (ON_500, [500, 201], 2),
        (ON_500, [503, 201], 1),
        (RetrySettings(base_delay_s=0, repeatable="safe"), [503, 201], 1),
        (RetrySettings(base_delay_s=0, repeatable="any"), [500, 201], 2),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_an_order_is_sent_again_only_after_the_statuses_that_the_settings_name(
    method: str, retry: RetrySettings, answers: Collection[int], orders: int
) -> None:
    async with shop(*answers) as at, client_of(at.url, Policies(retry=retry)) as client:
        response = await client.request(method, "s", "/orders")
    assert (at.orders, response.status_code) == (orders, list(answers)[orders - 1])


async def test_what_is_idempotent_is_sent_again_whatever_the_settings_say_of_what_is_not() -> None:
    keyed = {"idempotency-key": "1"}
    for method, headers in (("PUT", {}), ("QUERY", {}), ("POST", keyed)):
        async with shop(503, 201) as at, client_of(at.url, Policies(retry=NEVER)) as client:
            await client.request(method, "s", "/orders", headers=headers)
        assert (method, at.orders) == (method, 2)


@pytest.mark.parametrize(
    ("answers", "error"),
    [([HANGS_UP], httpx.RemoteProtocolError), ([201, HANGS_UP], StaleConnection)],
    ids=["new", "kept"],
)
async def test_an_order_is_not_sent_again_over_a_connection_that_the_server_closed(
    answers: list[int], error: type[Exception]
) -> None:
    """Nor by the library underneath, which would repeat a GET by itself."""
    async with shop(*answers) as at, client_of(at.url, Policies(retry=AT_ONCE)) as client:
        for _ in answers[:-1]:
            await client.post("s", "/orders")
        with pytest.raises(error):
            await client.post("s", "/orders")
    assert at.orders == len(answers)


async def test_an_order_that_no_connection_could_take_is_tried_again() -> None:
    async with shop(201) as at:
        pass
    async with client_of(at.url, Policies(retry=NEVER)) as client:
        with pytest.raises(httpx.ConnectError):
            await client.post("s", "/orders")
    assert (client.statistics("s").attempts, at.orders) == (3, 0)


@pytest.mark.parametrize(
    ("hedge", "orders"),
    [(HedgeSettings(delay_s=0), 1), (HedgeSettings(delay_s=0, methods={"GET", "POST"}), 2)],
    ids=["default", "named"],
)
async def test_an_order_is_hedged_only_if_the_settings_name_its_method(
    hedge: HedgeSettings, orders: int
) -> None:
    came = 0
    all_came = asyncio.Event()

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        await read_request(reader)
        came += 1
        if came == orders:
            all_came.set()
        await all_came.wait()
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    async with scripted_peer(behave) as url, client_of(url, Policies(hedge=hedge)) as client:
        await client.post("s", "/orders")
    assert (came, client.statistics("s").hedges) == (orders, orders - 1)


@pytest.mark.parametrize(("only_what_asks", "orders"), [(False, 2), (True, 1)])
async def test_a_fallback_that_asks_another_source_repeats_the_order_unless_it_looks_first(
    only_what_asks: bool, orders: int
) -> None:
    async with shop(503) as first, shop(201) as second, client_of(second.url) as mirror:

        async def mirrored(
            request: httpx.Request, _failure: Exception | httpx.Response
        ) -> httpx.Response:
            if only_what_asks and request.method not in {"GET", "HEAD"}:
                raise ValueError("not to be repeated")
            return await mirror.request(request.method, "s", request.url.path)

        policies = Policies(fallback=Fallback(answer=mirrored))
        async with client_of(first.url, policies) as client:
            response = await client.post("s", "/orders")
    assert first.orders + second.orders == orders
    assert response.status_code == (503 if only_what_asks else 201)
