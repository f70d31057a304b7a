"""A method of the client for each of HTTP's."""

from random import Random

import httpx
import pytest

from resilience import ResilientClient, Source


@pytest.mark.parametrize("method", ["get", "head", "options", "post", "put", "patch", "delete"])
async def test_a_method_of_the_client_sends_the_method_of_its_name(method: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(204)

    source = Source(name="rates", base_url="http://rates.test")
    transport = httpx.MockTransport(answer)
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        response = await getattr(client, method)("rates", "/rates", params={"day": 1})
    [request] = sent
    assert (request.method, request.url.path, request.url.query) == (
        method.upper(),
        "/rates",
        b"day=1",
    )
    assert response.status_code == 204
