"""Each variant makes the call: alone, and inside the service that the experiment loads."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.bakeoff.budget import Budget, Wire
from benchmarks.bakeoff.variants import VARIANTS
from tests.service_process import free_port, service

BUDGET = Budget(retry_delay_s=0.001)


def answering(*statuses: int) -> Wire:
    """Answer with these statuses in turn, the last one for ever."""
    left = list(statuses)

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(left.pop(0) if len(left) > 1 else left[0])

    return Wire(around=lambda _: httpx.MockTransport(answer))


@pytest.mark.parametrize("name", VARIANTS)
async def test_a_healthy_call_returns_its_status(name: str) -> None:
    async with VARIANTS[name].caller(BUDGET, "http://rates", answering(200)) as call:
        assert await call("/rates/USD") == 200


@pytest.mark.parametrize("name", sorted(VARIANTS.keys() - {"no_policy"}))
async def test_two_failures_are_cured_by_two_retries(name: str) -> None:
    async with VARIANTS[name].caller(BUDGET, "http://rates", answering(500, 503, 200)) as call:
        assert await call("/rates/USD") == 200


@pytest.mark.parametrize("name", sorted(VARIANTS.keys() - {"no_policy"}))
async def test_a_third_failure_ends_the_call(name: str) -> None:
    wire = answering(500, 500, 500, 200)
    async with VARIANTS[name].caller(BUDGET, "http://rates", wire) as call:
        [ended] = await asyncio.gather(call("/rates/USD"), return_exceptions=True)

        assert ended == 500 or isinstance(ended, Exception)
        assert await call("/rates/USD") == 200


@pytest.mark.virtual_clock
@pytest.mark.parametrize(
    ("name", "least_s", "most_s"),
    [
        ("pipeline", 0.0, 0.07),
        ("stamina_pybreaker", 0.05, 0.1),
        ("tenacity_purgatory", 0.05, 0.1),
        ("hyx", 0.0, 0.05),
        ("httpx_retries", 0.0, 0.05),
    ],
)
async def test_the_first_retry_comes_when_the_page_says(
    name: str, least_s: float, most_s: float
) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(50):
        began_s = loop.time()
        async with VARIANTS[name].caller(Budget(), "http://rates", answering(500, 200)) as call:
            await call("/rates/USD")
        assert least_s <= loop.time() - began_s <= most_s + 1e-6


@pytest.mark.parametrize("name", [name for name, each in VARIANTS.items() if each.rejection])
async def test_an_open_circuit_rejects_with_the_error_that_the_variant_names(name: str) -> None:
    rejection = VARIANTS[name].rejection
    assert rejection is not None
    async with VARIANTS[name].caller(BUDGET, "http://rates", answering(500)) as call:
        for _ in range(2 * BUDGET.failures):
            await asyncio.gather(call("/rates/USD"), return_exceptions=True)
        with pytest.raises(rejection):
            await call("/rates/USD")


@pytest.mark.parametrize(
    "wrong",
    [{"attempt_s": 2.0}, {"attempt_s": 0}, {"retries": -1}, {"failures": 0}, {"break_s": 0}],
)
def test_a_budget_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Budget(**wrong)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def caller() -> Iterator[httpx.Client]:
    with (
        service("rates_api") as rates,
        service("benchmarks.bakeoff", RATES_URL=rates.url) as running,
        httpx.Client(base_url=running.url) as client,
    ):
        yield client


@pytest.mark.integration
@pytest.mark.parametrize("name", VARIANTS)
def test_the_service_calls_through_the_named_variant_and_counts_attempts(
    name: str, caller: httpx.Client
) -> None:
    before = caller.get("/stats").json()
    answer = caller.get("/call", params={"with": name}).json()
    after = caller.get("/stats").json()

    assert answer == {"outcome": "ok", "status": 200}
    assert after["attempts"] == before["attempts"] + 1
    assert after["attemptsBy"][name] == before["attemptsBy"][name] + 1


@pytest.mark.integration
def test_an_unknown_variant_is_a_problem_that_names_the_known(caller: httpx.Client) -> None:
    response = caller.get("/call", params={"with": "hope"})

    assert response.status_code == 422
    assert "pipeline, stamina_pybreaker" in response.json()["detail"]


@pytest.mark.integration
def test_a_call_to_a_service_that_is_not_there_has_failed() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with service("benchmarks.bakeoff", RATES_URL=nobody) as running:
        answer = httpx.get(f"{running.url}/call?with=no_policy").json()

    assert answer["outcome"] == "failed"
    assert "ConnectError" in answer["error"]
