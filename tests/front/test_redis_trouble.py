import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from tests.moving_name import Name
from tests.resilience.sharing.processes import eventually
from tests.service_process import free_port, service
from tests.valkey import Valkey, valkey

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def rates() -> Iterator[str]:
    with service("rates_api", CHAOS_ENABLED="true") as running:
        yield running.url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with valkey(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@pytest.fixture(scope="module")
def front(rates: str, server: Valkey) -> Iterator[str]:
    with service(
        "front",
        RATES_URL=rates,
        REDIS_URL=server.url,
        REDIS_TIMEOUT_S="0.7",  # the machine may be busy
        FAILURE_RATIO="off",
        RETRIES="0",
    ) as running:
        yield running.url


def convert(front: str) -> httpx.Response:
    return httpx.get(f"{front}/convert?from=USD&amount=100", timeout=5)


def sicken(rates: str) -> None:
    httpx.post(f"{rates}/chaos?failure=1").raise_for_status()


def heal(rates: str) -> None:
    httpx.delete(f"{rates}/chaos").raise_for_status()


@pytest.fixture(autouse=True)
def healthy(rates: str) -> Iterator[None]:
    yield
    heal(rates)


def assert_no_stale_answer(response: httpx.Response, why: str) -> None:
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
    assert why in response.json()["detail"]


def test_with_redis_down_fresh_answers_go_on_and_a_stale_one_is_impossible(rates: str) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}"
    with service("front", RATES_URL=rates, REDIS_URL=nowhere) as front:
        assert convert(front.url).json()["source"] == "fresh"
        sicken(rates)
        assert_no_stale_answer(convert(front.url), "Redis failed")
        health = httpx.get(f"{front.url}/health")
        assert (health.status_code, health.json()["rates"]) == (503, "ok")
        assert front.stop()[0] == 0


def test_a_hung_redis_holds_up_no_fresh_answer_and_a_stale_one_for_its_limit(
    rates: str, server: Valkey, front: str
) -> None:
    convert(front)
    server.hang()
    try:
        with httpx.Client() as client:
            for _ in range(100):
                answer = client.get(f"{front}/convert?from=USD&amount=100")
                assert answer.json()["source"] == "fresh"
        sicken(rates)
        began = time.perf_counter()
        assert_no_stale_answer(convert(front), "Redis was silent for 0.7 s")
        assert time.perf_counter() - began >= 0.7
        health = httpx.get(f"{front}/health").json()
        assert health == {"redis": "TimeoutError: Redis was silent for 0.7 s", "rates": "ok"}
    finally:
        server.go_on()
    assert convert(front).json()["source"] == "stale"


@pytest.mark.parametrize(
    "garbage", [b"", b"garbage", b"{}", b"\xff", b'{"code":"EUR"}', b"x" * 10**6]
)
def test_garbage_in_redis_is_no_rate_and_is_replaced_by_the_next_good_one(
    garbage: bytes, rates: str, server: Valkey, front: str
) -> None:
    convert(front)
    sicken(rates)
    assert convert(front).json()["source"] == "stale"
    with server.client() as redis:
        redis.set("rate:USD", garbage)
    assert_no_stale_answer(convert(front), "Redis holds no readable rate of USD")
    heal(rates)
    convert(front)
    sicken(rates)

    assert convert(front).json()["source"] == "stale"


def test_what_is_no_redis_at_all_is_a_redis_that_failed(rates: str) -> None:
    with service("front", RATES_URL=rates, REDIS_URL=rates.replace("http", "redis")) as front:
        assert convert(front.url).json()["source"] == "fresh"
        sicken(rates)
        assert_no_stale_answer(convert(front.url), "Redis ")
        assert httpx.get(f"{front.url}/health").status_code == 503
        code, errors = front.stop()

    assert code == 0
    assert "Traceback" not in errors


def test_a_key_of_another_type_is_no_rate(rates: str, server: Valkey, front: str) -> None:
    convert(front)
    sicken(rates)
    assert convert(front).json()["source"] == "stale"
    with server.client() as redis:
        redis.delete("rate:USD")
        redis.lpush("rate:USD", "41.2")

    assert_no_stale_answer(convert(front), "Redis failed: WRONGTYPE")


def test_a_redis_that_comes_back_is_used_again(rates: str, server: Valkey, front: str) -> None:
    convert(front)
    server.stop()
    assert convert(front).json()["source"] == "fresh"
    server.start()
    sicken(rates)

    assert convert(front).json()["source"] == "stale"


def test_a_redis_that_takes_no_writes_is_still_read(rates: str, server: Valkey, front: str) -> None:
    kept = convert(front).json()
    sicken(rates)
    assert convert(front).json()["source"] == "stale"
    heal(rates)
    with server.client() as redis:
        redis.config_set("maxmemory", 1)
        try:
            newer = convert(front).json()
            sicken(rates)
            stale = convert(front).json()
        finally:
            redis.config_set("maxmemory", 0)

    assert newer["source"] == "fresh"
    assert (stale["source"], stale["rate"]) == ("stale", kept["rate"])


def test_a_hung_redis_does_not_hold_up_the_end(rates: str, tmp_path: Path) -> None:
    with (
        valkey(tmp_path) as server,
        service("front", RATES_URL=rates, REDIS_URL=server.url) as front,
    ):
        convert(front.url)
        server.hang()
        convert(front.url)
        code, errors = front.stop()

    assert code == 0
    assert "Traceback" not in errors


def test_the_last_good_rate_is_in_redis_before_the_service_ends(rates: str, tmp_path: Path) -> None:
    with (
        valkey(tmp_path) as server,
        service("front", RATES_URL=rates, REDIS_URL=server.url) as front,
    ):
        fresh = convert(front.url).json()
        code, errors = front.stop()
        with server.client() as redis:
            kept = redis.get("rate:USD")

    assert code == 0
    assert "Traceback" not in errors
    assert isinstance(kept, bytes)
    assert orjson.loads(kept).items() >= {"code": "USD", "value": fresh["rate"]}.items()


async def test_after_a_failover_rates_are_kept_by_the_new_primary(
    rates: str, tmp_path: Path
) -> None:
    """The old one answers still, and takes no writes."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with valkey(tmp_path / "old") as old, valkey(tmp_path / "new") as new:
        name = Name(old)
        async with name.served() as url, httpx.AsyncClient() as client:
            with service("front", RATES_URL=rates, REDIS_URL=url) as front:
                at = f"{front.url}/convert?from=USD&amount=100"
                (await client.get(at)).raise_for_status()
                with old.client() as kept:
                    await eventually(lambda: bool(kept.exists("rate:USD")))
                    kept.replicaof("127.0.0.1", free_port())
                name.leads_to = new
                (await client.get(at)).raise_for_status()
                with new.client() as kept:
                    await eventually(lambda: bool(kept.exists("rate:USD")))
