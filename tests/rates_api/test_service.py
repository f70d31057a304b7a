import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import httpx
import pytest

from tests.service_process import service

pytestmark = pytest.mark.integration

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with service("rates_api", CHAOS_ENABLED="true") as rates:
        yield rates.url


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url) as opened:
        yield opened
        opened.delete("/chaos")


def became(client: httpx.Client) -> dict[str, int]:
    stats: dict[str, int] = client.get("/stats").json()
    return stats


def growth(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def test_a_rate_in_any_case(client: httpx.Client) -> None:
    for code in ("USD", "usd"):
        rate = client.get(f"/rates/{code}").json()

        assert rate.keys() == {"code", "value", "at"}
        assert (rate["code"], type(rate["value"])) == ("USD", float)
        assert 41.15 <= rate["value"] <= 41.25
        assert MOMENT.fullmatch(rate["at"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/rates/XXX", 404),
        ("GET", "/rates/", 404),
        ("GET", "/rates/%00", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/rates/USD", 405),
        ("POST", "/chaos?failure=2", 422),
    ],
)
def test_every_error_is_a_problem(
    method: str, path: str, status: int, client: httpx.Client
) -> None:
    response = client.request(method, path)

    assert response.status_code == response.json()["status"] == status
    assert response.headers["content-type"] == "application/problem+json"


def test_ten_thousand_calls_at_30_percent_fail_within_3_sigma(client: httpx.Client) -> None:
    client.post("/chaos?failure=0.3&seed=18")
    before = became(client)
    port = httpx.URL(str(client.base_url)).port
    assert port is not None
    statuses = _pipelined(port, 10_000)

    failed = statuses.count(b"500")
    assert abs(failed - 3000) <= 3 * (10_000 * 0.3 * 0.7) ** 0.5
    assert growth(before, became(client)) == {
        "received": 10_000,
        "failed": failed,
        "answered": 10_000 - failed,
    }
    assert client.get("/chaos").json()["touched"] == failed


def _pipelined(port: int, calls: int, batch: int = 50) -> list[bytes]:
    with (
        socket.create_connection(("127.0.0.1", port)) as connection,
        connection.makefile("rb") as replies,
    ):
        statuses = []
        for _ in range(calls // batch):
            connection.sendall(b"GET /rates/USD HTTP/1.1\r\nHost: x\r\n\r\n" * batch)
            statuses += [_read_status(replies) for _ in range(batch)]
    return statuses


def _read_status(replies: BinaryIO) -> bytes:
    status = replies.readline().split()[1]
    while (header := replies.readline()) != b"\r\n":
        if header.startswith(b"content-length:"):
            length = int(header.split()[1])
    replies.read(length)
    return status


def test_callers_that_hang_up_during_a_delay_are_counted_as_such(client: httpx.Client) -> None:
    client.post("/chaos?delayMs=400")
    before = became(client)

    def impatient(_: int) -> None:
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{client.base_url}/rates/USD", timeout=0.1)

    with ThreadPoolExecutor(5) as callers:
        list(callers.map(impatient, range(5)))
    client.get("/rates/USD")
    time.sleep(0.1)

    assert growth(before, became(client)) == {"received": 6, "abandoned": 5, "delayed": 1}


def test_chaos_is_off_unless_asked_for_at_the_start() -> None:
    with service("rates_api") as rates:
        assert httpx.post(f"{rates.url}/chaos?failure=1").status_code == 404


def test_a_seeded_service_repeats_its_rates() -> None:
    def values() -> list[float]:
        with service("rates_api", RATES_SEED="5") as rates, httpx.Client() as client:
            return [client.get(f"{rates.url}/rates/USD").json()["value"] for _ in range(20)]

    assert values() == values()
