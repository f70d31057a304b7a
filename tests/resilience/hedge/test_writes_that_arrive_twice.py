"""A resource that acts at once and answers late: what its client hears of its writes."""

import asyncio
from random import Random

import httpx
import pytest

from resilience import HedgeSettings, Policies, ResilientClient, RetrySettings, Source

pytestmark = pytest.mark.virtual_clock

HEDGED = Policies(hedge=HedgeSettings(delay_s=0.1))
WIDER = Policies(hedge=HedgeSettings(delay_s=0.1, methods={"DELETE", "PUT"}))
RETRIED = Policies(attempt_timeout_s=0.3, retry=RetrySettings(base_delay_s=0))
RETRIED_IF_SAFE = Policies(
    attempt_timeout_s=0.3, retry=RetrySettings(base_delay_s=0, repeatable="safe")
)


class Resource:
    """Something to delete and to create; only the answer to the first request is late."""

    def __init__(self, *, exists: bool) -> None:
        self.exists = exists
        self.requests = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """Act, then answer."""
        self.requests += 1
        is_first = self.requests == 1
        status = self.delete() if request.method == "DELETE" else self.create()
        await asyncio.sleep(1 if is_first else 0.01)
        return httpx.Response(status)

    def delete(self) -> int:
        """Return what a DELETE is answered."""
        existed, self.exists = self.exists, False
        return 204 if existed else 404

    def create(self) -> int:
        """Return what a PUT with `If-None-Match: *` is answered."""
        existed, self.exists = self.exists, True
        return 412 if existed else 201


async def answered(policies: Policies, method: str) -> tuple[int, int]:
    """Return the status that the client gets, and how many requests the resource got."""
    resource = Resource(exists=method == "DELETE")
    source = Source(name="s", base_url="http://shop", policies=policies)
    transport = httpx.MockTransport(resource)
    headers = {} if method == "DELETE" else {"if-none-match": "*"}
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        response = await client.request(method, "s", "/orders/1", headers=headers)
    return response.status_code, resource.requests


@pytest.mark.parametrize(("method", "status"), [("DELETE", 204), ("PUT", 201)])
async def test_a_slow_write_is_answered_as_if_it_were_alone(method: str, status: int) -> None:
    assert await answered(HEDGED, method) == (status, 1)


@pytest.mark.parametrize(("method", "status"), [("DELETE", 404), ("PUT", 412)])
async def test_who_widens_the_methods_may_get_the_answer_to_the_second_copy(
    method: str, status: int
) -> None:
    assert await answered(WIDER, method) == (status, 2)


@pytest.mark.parametrize(("method", "status"), [("DELETE", 404), ("PUT", 412)])
async def test_a_retry_after_a_time_out_may_be_answered_as_one_that_came_second(
    method: str, status: int
) -> None:
    assert await answered(RETRIED, method) == (status, 2)


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
async def test_who_retries_what_is_safe_alone_hears_of_the_time_out_instead(method: str) -> None:
    with pytest.raises(TimeoutError):
        await answered(RETRIED_IF_SAFE, method)
