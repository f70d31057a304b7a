"""The converter with a real Redis in front of a real rates service that gets sick."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.service_process import Running, service
from tests.valkey import Valkey, valkey

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with valkey(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@pytest.fixture(scope="module")
def rates() -> Iterator[Running]:
    with service("rates_api", CHAOS_ENABLED="true") as running:
        yield running


@pytest.fixture(scope="module")
def front(rates: Running, redis: Valkey) -> Iterator[httpx.Client]:
    with (
        service(
            "front",
            RATES_URL=rates.url,
            REDIS_URL=redis.url,
            SAMPLING_S="0.6",
            BREAK_S="0.5",
            RAW_TIMEOUT_S="0.7",
            REDIS_TIMEOUT_S="10",  # the machine may be busy
        ) as running,
        httpx.Client(base_url=running.url, timeout=5) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def healthy(rates: Running, front: httpx.Client) -> Iterator[None]:
    """Begin each test with a closed circuit and a good rate in Redis."""
    yield
    rates.process.send_signal(signal.SIGCONT)
    httpx.delete(f"{rates.url}/chaos").raise_for_status()
    deadline = time.monotonic() + 10
    while breaker(front) != "closed" or source(front) != "fresh":
        assert time.monotonic() < deadline
        time.sleep(0.05)
        source(front)


def sicken(rates: Running, query: str) -> None:
    httpx.post(f"{rates.url}/chaos?{query}").raise_for_status()


def convert(front: httpx.Client, **query: str) -> httpx.Response:
    return front.get("/convert", params={"from": "USD", "amount": "100"} | query)


def source(front: httpx.Client, **query: str) -> str:
    return str(convert(front, **query).json().get("source", "error"))


def stats(front: httpx.Client) -> dict[str, int]:
    counts: dict[str, int] = front.get("/stats").json()
    del counts["breaker"]
    return counts


def breaker(front: httpx.Client) -> str:
    return str(front.get("/stats").json()["breaker"])


def growth(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


@pytest.mark.parametrize("raw", ["true", "false"])
def test_a_healthy_rates_service_gives_fresh_answers(raw: str, front: httpx.Client) -> None:
    answer = convert(front, raw=raw).json()

    assert answer.keys() == {"result", "rate", "source", "ageSec"}
    assert answer["result"] == pytest.approx(100 * answer["rate"], abs=0.005)
    assert (answer["source"], answer["ageSec"]) == ("fresh", 0)


@pytest.mark.parametrize(
    ("query", "status"),
    [({"from": "XXX"}, 404), ({"amount": "-1"}, 422), ({"from": "dollars"}, 422)],
)
def test_bad_input_is_a_problem(query: dict[str, str], status: int, front: httpx.Client) -> None:
    response = convert(front, **query)

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


def test_a_reply_passes_on_the_fault_that_touched_the_last_attempt(
    front: httpx.Client, rates: Running
) -> None:
    healthy = convert(front)
    sicken(rates, "delayMs=5")
    delayed = convert(front)
    sicken(rates, "failure=1")
    failed = convert(front, raw="true")
    unknown = convert(front, **{"from": "PLN"}, raw="true")
    for _ in range(4):
        convert(front)
    rejected = convert(front)

    replies = (healthy, delayed, failed, unknown, rejected)
    assert breaker(front) == "open"
    assert [reply.status_code for reply in replies] == [200, 200, 200, 503, 200]
    assert [reply.headers.get("x-chaos") for reply in replies] == [
        None,
        "delay",
        "failure",
        "failure",
        None,
    ]


def test_retries_make_most_of_30_percent_failures_good(rates: Running, redis: Valkey) -> None:
    with (
        service("front", RATES_URL=rates.url, REDIS_URL=redis.url) as front,
        httpx.Client(base_url=front.url) as client,
    ):
        primed = [source(client) for _ in range(20)]
        sicken(rates, "failure=0.3&seed=1")
        before = stats(client)
        sources = [source(client) for _ in range(40)]
        counted = growth(before, stats(client))

    assert primed == ["fresh"] * 20
    assert sources.count("fresh") >= 36
    assert counted["attempts"] == counted["attemptsResilient"] == 40 + counted["retries"]


def test_the_raw_caller_sends_one_attempt_a_request(front: httpx.Client, rates: Running) -> None:
    source(front)
    sicken(rates, "failFirst=4")
    before = stats(front)
    sources = [source(front, raw="true") for _ in range(10)]

    assert sources == ["stale"] * 4 + ["fresh"] * 6
    assert growth(before, stats(front)) == {
        "attempts": 10,
        "attemptsRaw": 10,
        "stale": 4,
        "fresh": 6,
    }


def test_an_open_circuit_spares_the_sick_service_and_closes_once_it_is_well(
    front: httpx.Client, rates: Running
) -> None:
    source(front)
    sicken(rates, "failure=1")
    while breaker(front) == "closed":
        assert source(front) == "stale"
    before = stats(front)
    with ThreadPoolExecutor(4) as callers:
        sources = list(callers.map(lambda _: source(front), range(20)))
    counted = growth(before, stats(front))
    httpx.delete(f"{rates.url}/chaos")
    time.sleep(0.6)

    assert sources == ["stale"] * 20
    assert counted["rejections"] == 20  # the retry of a trial that fails is rejected as well
    assert counted.get("attempts", 0) <= 2  # a trial each half second
    assert source(front) == "fresh"
    assert breaker(front) == "closed"


def test_a_slow_service_costs_the_resilient_caller_an_attempt_time_out_and_the_raw_one_the_delay(
    front: httpx.Client, rates: Running
) -> None:
    source(front)
    sicken(rates, "delayMs=500")
    before = stats(front)
    assert source(front) == "stale"
    assert source(front, raw="true") == "fresh"
    counted = growth(before, stats(front))

    assert counted["attemptTimeouts"] >= 2


def test_a_hung_service_is_waited_for_as_long_as_the_time_outs_say(
    front: httpx.Client, rates: Running
) -> None:
    source(front)
    rates.process.send_signal(signal.SIGSTOP)
    before = stats(front)
    began = time.perf_counter()
    assert source(front, raw="true") == "stale"
    assert time.perf_counter() - began >= 0.7
    assert growth(before, stats(front)) == {
        "attempts": 1,
        "attemptsRaw": 1,
        "totalTimeouts": 1,
        "stale": 1,
    }
    assert front.get("/alive").status_code == 200
    assert front.get("/health").json()["rates"] == "no answer within 1 s"


def test_a_stale_answer_tells_the_age_of_its_rate(front: httpx.Client, rates: Running) -> None:
    fresh = convert(front).json()
    sicken(rates, "failure=1")
    time.sleep(1)
    stale = convert(front).json()

    assert stale == fresh | {"source": "stale", "ageSec": stale["ageSec"]}
    assert 1 <= stale["ageSec"] <= 3
