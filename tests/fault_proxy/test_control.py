from collections.abc import AsyncIterator

import httpx
import pytest

from fault_proxy import Latency, Match, Proxy, Status
from fault_proxy.control import proxy_control
from tests.fault_proxy.conftest import HttpLink
from tests.fault_proxy.peers import Peer
from tests.fault_proxy.test_request_faults import GET

TITLES = {
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    422: "Unprocessable Content",
}


@pytest.fixture
async def control(echoing: Proxy) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(proxy_control(echoing))
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        yield client


async def test_a_fault_is_put_on_told_renewed_and_taken_off(control: httpx.AsyncClient) -> None:
    document = {"kind": "latency", "delayMs": 5, "probability": 0.5, "ttlS": 60}
    created = await control.post("/faults", json=document)
    assert created.status_code == 201
    told = created.json()
    assert document.items() <= told.items()
    assert (told["name"], told["touched"]) == ("latency", 0)
    assert isinstance(told["seed"], int)
    assert 59 < told["leftS"] <= 60

    renewed = await control.patch(f"/faults/{told['id']}", json={"ttlS": 90})
    assert 89 < renewed.json()["leftS"] <= 90
    listed = (await control.get("/faults")).json()["faults"]
    assert [each["id"] for each in listed] == [told["id"]]

    assert (await control.get(f"/faults/{told['id']}")).json()["ttlS"] == 90

    assert (await control.delete(f"/faults/{told['id']}")).json() == {"faults": [], "applied": 1}
    assert (await control.get(f"/faults/{told['id']}")).status_code == 404


async def test_all_faults_are_taken_off_at_once(control: httpx.AsyncClient) -> None:
    for kind in ("blackHole", "refuse", "status"):
        await control.post("/faults", json={"kind": kind})

    assert len((await control.get("/faults")).json()["faults"]) == 3
    assert (await control.delete("/faults")).json() == {"faults": [], "applied": 3}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/faults", '{"kind": "latency", "delayMs": 1, "speed": 2}', 422),
        ("POST", "/faults", '{"kind": "latency", "delayMs": 1e9}', 422),
        ("POST", "/faults", "no JSON", 422),
        ("POST", "/faults", " " * 100_000, 413),
        ("PATCH", "/faults/1", '{"ttlS": -1}', 422),
        ("PATCH", "/faults/99", '{"ttlS": 1}', 404),
        ("DELETE", "/faults/99", "", 404),
        ("PUT", "/faults", "{}", 405),
        ("GET", "/", "", 404),
    ],
)
async def test_a_wrong_request_changes_nothing_and_gets_a_problem(
    method: str, path: str, body: str, status: int, control: httpx.AsyncClient
) -> None:
    await control.post("/faults", json={"kind": "blackHole"})
    before = (await control.get("/faults")).json()
    reply = await control.request(method, path, content=body)

    assert reply.status_code == reply.json()["status"] == status
    assert reply.json()["title"] == TITLES[status]
    assert reply.headers["content-type"] == "application/problem+json"
    assert (await control.get("/faults")).json() == before


async def test_stats_count_what_passed_and_what_was_hit(http: HttpLink) -> None:
    async with await Peer.connect(http.proxy.address) as client:
        replies = await client.ask(GET)
        http.proxy.apply(Status(match=Match(path="/rates")))
        http.proxy.apply(Latency(delay_ms=0))
        replies += await client.ask(GET)
        transport = httpx.ASGITransport(proxy_control(http.proxy))
        async with httpx.AsyncClient(transport=transport, base_url="http://control") as control:
            stats = (await control.get("/stats")).json()

    assert stats.pop("stalledS") >= 0
    assert stats == {
        "connections": {"total": 1, "open": 1, "hit": 1, "unreachable": 0},
        "bytes": {"upstream": len(GET), "downstream": len(replies)},
        "requests": {"total": 2, "hit": 1},
        "ownFailures": {},
    }
