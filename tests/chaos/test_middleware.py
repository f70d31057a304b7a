import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request, Response

from chaos import ChaosMiddleware, Outcomes, OutcomesMiddleware
from chaos.injector import Injector

pytestmark = pytest.mark.virtual_clock


def patient(
    *, enabled: bool = True, token: str | None = None, outcomes: Outcomes | None = None
) -> FastAPI:
    app = FastAPI()
    app.add_middleware(ChaosMiddleware, enabled=enabled, token=token)
    app.add_middleware(OutcomesMiddleware, outcomes=outcomes or Outcomes(), prefix="/pulse")

    @app.get("/pulse")
    @app.get("/health")
    async def pulse() -> str:
        return "well"

    @app.get("/long")
    async def long() -> Response:
        return Response(b"x" * 100_000)

    @app.get("/slow")
    async def slow() -> str:
        await asyncio.sleep(2)
        return "at last"

    @app.get("/crash")
    async def crash() -> float:
        return 1 / 0

    @app.post("/echo")
    async def echo(request: Request) -> int:
        return len(await request.body())

    return app


def caller(app: FastAPI, host: str = "127.0.0.1") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(host, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://patient")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with caller(patient()) as opened:
        yield opened


async def fates(client: httpx.AsyncClient, calls: int) -> list[int]:
    return [(await client.get("/pulse")).status_code for _ in range(calls)]


async def test_a_fault_lasts_until_it_is_taken_off(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1")
    sick = await client.get("/pulse")
    await client.delete("/chaos")
    well = await client.get("/pulse")

    assert (sick.status_code, sick.headers["x-chaos"]) == (500, "failure")
    assert sick.headers["content-type"] == "application/problem+json"
    assert (well.status_code, "x-chaos" in well.headers) == (200, False)


async def test_a_failed_reply_is_delayed_too_and_says_both(client: httpx.AsyncClient) -> None:
    await client.post(
        "/chaos", json={"failFirst": 1, "status": 503, "retryAfterS": 7, "delayMs": 500}
    )
    first = await client.get("/pulse")
    second = await client.get("/pulse")

    assert (first.status_code, first.headers["retry-after"]) == (503, "7")
    assert first.headers["x-chaos"] == "delay, failFirst"
    assert (second.status_code, second.headers["x-chaos"]) == (200, "delay")
    assert asyncio.get_running_loop().time() == pytest.approx(1.0)


async def test_what_is_on_is_told(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1&seed=3&ttlS=10")
    await fates(client, 2)
    await asyncio.sleep(4)

    state = (await client.get("/chaos")).json()

    assert state.items() >= {"on": True, "failure": 1, "seed": 3, "ttlS": 10, "touched": 2}.items()
    assert state["leftS"] == pytest.approx(6)


async def test_what_a_fault_did_is_told_by_cause_beside_the_requests_that_it_was_for(
    client: httpx.AsyncClient,
) -> None:
    await client.post(
        "/chaos",
        json={"failFirst": 1, "failure": 1, "delayMs": 5, "match": {"path": "/pulse"}},
    )
    await fates(client, 3)
    await client.get("/elsewhere")
    state = (await client.get("/chaos")).json()

    assert (state["arrived"], state["touched"]) == (3, 3)
    assert state["hits"] == {"delay": 3, "failFirst": 1, "failure": 2}


async def test_a_match_that_no_request_meets_shows_as_none_that_arrived(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos", json={"failure": 1, "match": {"path": "/typo"}})
    await fates(client, 3)
    state = (await client.get("/chaos")).json()

    assert (state["arrived"], state["touched"], state["hits"]) == (0, 0, {})


async def test_each_injector_has_a_name_and_counts_the_faults_it_was_given(
    client: httpx.AsyncClient,
) -> None:
    before = (await client.get("/chaos")).json()
    await client.post("/chaos?failure=1")
    await client.post("/chaos?failure=0")  # takes it off: it is no fault
    await client.post("/chaos?delayMs=1")
    after = (await client.delete("/chaos")).json()
    other = Injector(now_s=lambda: 0.0)

    assert (before["applied"], after["applied"]) == (0, 2)
    assert before["instance"] == after["instance"] != other.instance


async def test_a_seed_is_picked_and_told_when_none_is_given(client: httpx.AsyncClient) -> None:
    seed = (await client.post("/chaos?failure=0.5")).json()["seed"]
    first = await fates(client, 30)
    await client.post(f"/chaos?failure=0.5&seed={seed}")

    assert await fates(client, 30) == first


async def test_a_fault_ends_by_itself_after_its_lease(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1&ttlS=5")
    await asyncio.sleep(4.9)
    assert await fates(client, 1) == [500]
    await asyncio.sleep(0.1)

    assert await fates(client, 1) == [200]
    assert (await client.get("/chaos")).json()["on"] is False


async def test_a_renewal_moves_the_end_and_touches_nothing_else(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=0.5&seed=9&ttlS=5")
    unrenewed = await fates(client, 20)
    await client.post("/chaos?failure=0.5&seed=9&ttlS=5")
    before = await fates(client, 10)
    await asyncio.sleep(4)
    renewed = await client.patch("/chaos?ttlS=5")
    await asyncio.sleep(4)

    assert before + await fates(client, 10) == unrenewed
    assert (renewed.status_code, renewed.json()["leftS"]) == (200, pytest.approx(5))


@pytest.mark.parametrize("ended_by", ["never on", "lease", "delete"])
async def test_there_is_nothing_to_renew_when_nothing_is_on(
    ended_by: str, client: httpx.AsyncClient
) -> None:
    if ended_by != "never on":
        await client.post("/chaos?failure=1&ttlS=5")
    if ended_by == "lease":
        await asyncio.sleep(5)
    if ended_by == "delete":
        await client.delete("/chaos")

    assert (await client.patch("/chaos?ttlS=5")).status_code == 409
    assert await fates(client, 1) == [200]


async def test_a_post_starts_afresh(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failFirst=2")
    first = await fates(client, 3)
    await client.post("/chaos?failFirst=2")

    assert first == await fates(client, 3) == [500, 500, 200]


async def test_a_post_without_any_effect_takes_the_fault_off(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1")

    assert (await client.post("/chaos?failure=0&delayMs=0")).json()["on"] is False


async def test_a_wrong_request_changes_nothing(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failFirst=2&ttlS=9")
    await fates(client, 1)
    before = (await client.get("/chaos")).json()

    wrong = await client.post("/chaos?failure=2")
    await client.patch("/chaos?ttlS=-1")

    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/problem+json"
    assert wrong.json()["title"] == "Unprocessable Content"
    assert [error["field"] for error in wrong.json()["errors"]] == ["failure"]
    assert (await client.get("/chaos")).json() == before
    assert await fates(client, 2) == [500, 200]


async def test_fates_are_dealt_in_order_of_arrival_however_many_are_in_flight(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos?failure=0.5&delayMs=50&jitterMs=50&seed=4")
    one_by_one = await fates(client, 40)
    await client.post("/chaos?failure=0.5&delayMs=50&jitterMs=50&seed=4")
    async with asyncio.TaskGroup() as group:
        together = [group.create_task(client.get("/pulse")) for _ in range(40)]

    assert [each.result().status_code for each in together] == one_by_one


async def test_a_request_in_its_delay_goes_on_unharmed_when_the_fault_is_taken_off(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos?failure=1&delayMs=500")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(client.get("/pulse"))
        await asyncio.sleep(0.1)
        await client.delete("/chaos")

    assert (waiting.result().status_code, waiting.result().headers["x-chaos"]) == (200, "delay")
    assert asyncio.get_running_loop().time() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("document", "ends_at_s"),
    [
        ({"ttlS": 5}, 5.0),
        ({"flapS": 0.1}, 0.1),
        ({"flapS": 2, "ttlS": 5}, 2.0),
        ({"flapS": 5, "ttlS": 2}, 2.0),
    ],
)
async def test_a_hang_ends_with_the_lease_or_the_turn(
    document: dict[str, float], ends_at_s: float, client: httpx.AsyncClient
) -> None:
    await client.post("/chaos", json={"hang": True, **document})
    let_go = await client.get("/pulse")

    assert (let_go.status_code, let_go.headers["x-chaos"]) == (200, "hang")
    assert asyncio.get_running_loop().time() == pytest.approx(ends_at_s)


@pytest.mark.parametrize(("ttl_s", "ends_at_s"), [(10, 14.0), (0.5, 4.5)])
async def test_who_hangs_waits_for_the_renewed_lease(
    ttl_s: float, ends_at_s: float, client: httpx.AsyncClient
) -> None:
    await client.post("/chaos?hang=true&ttlS=5")
    async with asyncio.TaskGroup() as group:
        group.create_task(client.get("/pulse"))
        await asyncio.sleep(4)
        await client.patch(f"/chaos?ttlS={ttl_s}")

    assert asyncio.get_running_loop().time() == pytest.approx(ends_at_s)


async def test_flapping_rests_by_turns_while_the_fault_stays_on(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1&flapS=2&ttlS=60")
    seen = []
    for _ in range(6):
        await asyncio.sleep(1)
        state = (await client.get("/chaos")).json()
        seen.append((await fates(client, 1), state["on"], state["active"]))

    on, resting = ([500], True, True), ([200], True, False)
    assert seen == [on, resting, resting, on, on, resting]


async def test_a_renewal_does_not_move_the_beat(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1&flapS=2&ttlS=60")
    await asyncio.sleep(1.5)
    await client.patch("/chaos?ttlS=60")
    await asyncio.sleep(1)

    assert await fates(client, 1) == [200]


async def test_only_requests_that_the_fault_concerns_are_counted_and_rolled_for(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos?failure=0.5&seed=4&match.method=GET")
    alone = await fates(client, 20)
    await client.post("/chaos?failure=0.5&seed=4&match.method=GET")
    among_others = []
    for _ in range(20):
        assert (await client.post("/echo")).status_code == 200
        among_others += await fates(client, 1)

    assert among_others == alone
    assert (await client.get("/chaos")).json()["touched"] == alone.count(500)


async def test_a_match_that_nothing_meets_touches_nothing(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?hang=true&match.path=/elsewhere")

    assert await fates(client, 1) == [200]


async def test_a_drip_is_bounded(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?body=drip")
    reply = await client.get("/long")

    assert len(reply.content) == 100_000
    assert asyncio.get_running_loop().time() == pytest.approx(30, abs=0.2)


async def test_a_fault_that_ends_before_a_reply_begins_spoils_nothing(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos?body=empty&ttlS=1")
    reply = await client.get("/slow")

    assert (reply.json(), "x-chaos" in reply.headers) == ("at last", False)
    assert (await client.get("/chaos")).json()["touched"] == 0


async def test_an_error_of_the_application_stays_its_own(client: httpx.AsyncClient) -> None:
    await client.post("/chaos?body=truncate")

    with pytest.raises(ZeroDivisionError):
        await client.get("/crash")


async def test_an_upload_survives_a_delay(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * 1000

    await client.post("/chaos?delayMs=100")

    assert (await client.post("/echo", content=chunks())).json() == 5000
    assert (await client.post("/echo", content=b"abc")).json() == 3


async def test_a_request_of_whoever_measures_is_neither_touched_nor_counted(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chaos?failure=1")
    look = await client.get("/pulse", headers={"X-Chaos-Exempt": "lab"})
    await client.get("/pulse")
    state = (await client.get("/chaos")).json()

    assert (look.status_code, "x-chaos" in look.headers) == (200, False)
    assert (state["arrived"], state["touched"]) == (1, 1)


@pytest.mark.parametrize("path", ["/health", "/chaos"])
async def test_exempt_paths_are_never_touched(path: str, client: httpx.AsyncClient) -> None:
    await client.post("/chaos?failure=1")

    assert (await client.get(path)).status_code == 200


async def test_chaos_is_unknown_unless_enabled() -> None:
    async with caller(patient(enabled=False)) as client:
        assert (await client.post("/chaos?failure=1")).status_code == 404
        assert await fates(client, 1) == [200]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.8.8.8", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("10.0.0.1", 403),
        ("::ffff:10.0.0.1", 403),
        ("testclient", 403),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_without_a_token_only_loopback_addresses_may(
    method: str, host: str, status: int
) -> None:
    async with caller(patient(), host) as client:
        assert (await client.request(method, "/chaos")).status_code == status


@pytest.mark.parametrize(
    ("presented", "status"),
    [
        ({"Authorization": "Bearer s3cret"}, 200),
        ({"Authorization": "Bearer s3cre"}, 401),
        ({"Authorization": "s3cret"}, 401),
        ({}, 401),
    ],
)
async def test_with_a_token_it_must_be_presented_from_anywhere(
    presented: dict[str, str], status: int
) -> None:
    app = patient(token="s3cret")  # noqa: S106 - the token of this test
    for host in ("127.0.0.1", "10.0.0.1"):
        async with caller(app, host) as client:
            assert (await client.post("/chaos", headers=presented)).status_code == status


@pytest.mark.parametrize("method", ["PUT", "OPTIONS"])
async def test_other_methods_are_refused_with_those_that_are_not(
    method: str, client: httpx.AsyncClient
) -> None:
    response = await client.request(method, "/chaos")

    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST, PATCH, DELETE")


async def test_a_body_without_end_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.post("/chaos", content=b" " * 100_000)

    assert (response.status_code, response.json()["title"]) == (413, "Content Too Large")


async def test_the_classes_of_what_became_of_requests_add_up() -> None:
    outcomes = Outcomes()
    async with caller(patient(outcomes=outcomes)) as client:
        await client.get("/pulse")
        await client.get("/pulseless")
        await client.post("/pulse")
        await client.post("/chaos?failFirst=1&status=404&delayMs=10")
        await client.get("/pulse")
        await client.get("/pulse")

    assert outcomes == Outcomes(
        received=5, answered=1, not_found=1, refused=1, failed=1, delayed=1, abandoned=0
    )
