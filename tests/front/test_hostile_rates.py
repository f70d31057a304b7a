from collections.abc import Iterator

import httpx
import pytest

from tests.front.scripted_rates import Script, ScriptedRates, rate, reply, scripted_rates
from tests.service_process import service
from tests.valkey import valkey

pytestmark = pytest.mark.integration

JSON = "Content-Type: application/json"


def _whole(script: Script) -> bytes:
    return b"".join(step for step in script if isinstance(step, bytes))


HOSTILE: dict[str, Script] = {
    "wrong JSON": reply(b'{"code":', "200 OK", JSON),
    "an empty body": reply(b""),
    "no content": [b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"],
    "null": reply(b"null", "200 OK", JSON),
    "a value of a wrong type": reply(rate(value="41.2")),
    "NaN": reply(rate().replace(b"41.2031", b"NaN")),
    "infinity": reply(rate().replace(b"41.2031", b"-Infinity")),
    "zero": reply(rate(value=0)),
    "a negative value": reply(rate(value=-41.2)),
    "an absurd value": reply(rate(value=1e300)),
    "another currency": reply(rate(code="EUR")),
    "no moment": reply(rate(at=None)),
    "a moment to come": reply(rate(at="9999-01-01T00:00:00Z")),
    "a redirect": reply(b"", "302 Found", "Location: /rates/EUR"),
    "a redirect to nowhere": reply(b"", "301 Moved", "Location: http://["),
    "one megabyte": reply(b"x" * 1_000_000),
    "one megabyte of good JSON": reply(rate(padding="x" * 1_000_000)),
    "a corrupt encoding": reply(b"no gzip", "200 OK", "Content-Encoding: gzip"),
    "a truncated body": [_whole(reply(rate()))[:-5]],
    "a body without end": [b"HTTP/1.1 200 OK\r\n\r\n", *([b"x" * 65536] * 32)],
    "a dripped body": (b"HTTP/1.1 200 OK\r\n\r\n", *(b" ", 0.1) * 8),
    "a bad chunk": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n"],
    "no HTTP": [b"220 smtp.example ESMTP\r\n"],
    "a bad header": [b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
    "an endless header": [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"],
    "an unknown status": reply(rate(), "999 What"),
    "an informational status": [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    "nothing at all": [],
    "silence": [0.8],
    "a failure": reply(b"", "500 Internal Server Error"),
    "a refusal": reply(b"", "401 Unauthorized"),
    "a retry in a year": reply(b"", "503 Unavailable", "Retry-After: 31536000"),
}


@pytest.fixture(scope="module")
def hostile() -> Iterator[ScriptedRates]:
    with scripted_rates() as server:
        yield server


@pytest.fixture(scope="module")
def front(
    hostile: ScriptedRates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    with (
        valkey(tmp_path_factory.mktemp("valkey")) as redis,
        service(
            "front",
            RATES_URL=hostile.url,
            REDIS_URL=redis.url,
            FAILURE_RATIO="off",
            RETRY_DELAY_S="0.001",
            TOTAL_TIMEOUT_S="0.5",
            ATTEMPT_TIMEOUT_S="0.2",
            RAW_TIMEOUT_S="0.3",
        ) as running,
        httpx.Client(base_url=running.url, timeout=5) as client,
    ):
        yield client


def convert(front: httpx.Client, code: str, raw: str) -> httpx.Response:
    return front.get("/convert", params={"from": code, "amount": "100", "raw": raw})


@pytest.mark.parametrize("raw", ["true", "false"])
@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_reply_is_a_failure_of_rates_and_never_of_the_converter(
    script: Script, raw: str, front: httpx.Client, hostile: ScriptedRates
) -> None:
    hostile.script = reply(rate(value=41.2031))
    assert convert(front, "USD", raw).json()["source"] == "fresh"

    hostile.script = script
    known, unknown = convert(front, "USD", raw), convert(front, "PLN", raw)

    assert known.json().items() >= {"result": 4120.31, "rate": 41.2031, "source": "stale"}.items()
    assert unknown.status_code == 503
    assert unknown.headers["content-type"] == "application/problem+json"
    assert "Redis holds no rate of PLN" in unknown.json()["detail"]


@pytest.mark.parametrize("mark", ["\xff", "a\tb", "x" * 300])
def test_a_mark_of_a_fault_that_fits_no_header_is_dropped(
    mark: str, front: httpx.Client, hostile: ScriptedRates
) -> None:
    hostile.script = reply(rate(value=41.2031), "200 OK", f"X-Chaos: {mark}")

    response = convert(front, "USD", "false")

    assert response.json()["source"] == "fresh"
    assert "x-chaos" not in response.headers


def test_an_unknown_currency_is_passed_on_and_no_failure(
    front: httpx.Client, hostile: ScriptedRates
) -> None:
    hostile.script = reply(b"", "404 Not Found")

    response = convert(front, "USD", "false")

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
