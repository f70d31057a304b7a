import datetime as dt
import math
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Annotated, Any

import httpx
import pytest
from pydantic import BaseModel, Field, FiniteFloat
from typing_extensions import TypedDict

from resilience import HttpError, InvalidBody, Policies, ResilientClient, RetrySettings, Source
from resilience._internal.wire.json_bodies import reader_of
from resilience.errors import excerpt_of


class Rate(BaseModel):
    """A rate as a model."""

    code: str
    value: Decimal


@dataclass(frozen=True)
class PlainRate:
    """The same as a dataclass."""

    code: str
    value: Decimal


class RateDict(TypedDict):
    """The same as a dict of known keys."""

    code: str
    value: float


def client_of(
    body: bytes, status: int = 200, requests: list[httpx.Request] | None = None
) -> ResilientClient:
    """Return a client whose requests are all answered alike."""

    def answer(request: httpx.Request) -> httpx.Response:
        if requests is not None:
            requests.append(request)
        return httpx.Response(status, content=body)

    rates = Source(
        name="rates",
        base_url="http://rates.test",
        policies=Policies(retry=RetrySettings(max_retries=1, base_delay_s=0)),
    )
    return ResilientClient([rates], random=Random(1), transport=httpx.MockTransport(answer))


DOLLAR = b'{"code": "USD", "value": 41.25}'


@pytest.mark.parametrize(
    ("as_type", "body", "value"),
    [
        (Rate, DOLLAR, Rate(code="USD", value=Decimal("41.25"))),
        (PlainRate, DOLLAR, PlainRate("USD", Decimal("41.25"))),
        (RateDict, DOLLAR, {"code": "USD", "value": 41.25}),
        (list[int], b"[1, 2]", [1, 2]),
        (dict[str, list[Rate]], b'{"a": []}', {"a": []}),
        (Annotated[int, Field(gt=0)], b"7", 7),
        (dict, b'{"a": [1]}', {"a": [1]}),
        (list, b"[null]", [None]),
        (object, b"null", None),
        (object, b'"text"', "text"),
        (object, b'\xef\xbb\xbf{"a": 1.5e2}', {"a": 150.0}),
        (dict, b'{"a": "NaN"}', {"a": "NaN"}),
        (dict, b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (dict[str, int], b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (list[str], b'["NaN", "Infinity"]', ["NaN", "Infinity"]),
        (list[float], b"[1e999]", [math.inf]),
        (Annotated[int, ["meta"]], b"7", 7),
    ],
    ids=str,
)
async def test_a_body_is_read_as_the_type_asked_for(
    as_type: type[Any], body: bytes, value: object
) -> None:
    async with client_of(body) as client:
        assert await client.get_json("rates", "/", as_type=as_type) == value


@dataclass(frozen=True)
class OtherRate:
    """Fits whatever a PlainRate fits."""

    code: str
    value: Decimal


async def test_a_union_is_read_as_the_first_of_its_types_that_fits() -> None:
    async with client_of(DOLLAR) as client:
        one = await client.get_json("rates", "/", as_type=PlainRate | OtherRate)
        other = await client.get_json("rates", "/", as_type=OtherRate | PlainRate)
    assert (type(one), type(other)) == (PlainRate, OtherRate)


def test_the_reader_of_a_form_is_made_once() -> None:
    assert reader_of(list[int | None]) is reader_of(list[int | None])


@pytest.mark.parametrize(
    ("as_type", "body", "reason"),
    [
        (Rate, b'{"code": "USD"}', r"value: Field required"),
        (Rate, b"{}", r"code: Field required \(and 1 more\)"),
        (Rate, b"<html>", "Invalid JSON"),
        (list[int], b'[1, "x"]', "1: Input should be a valid integer"),
        (list[int], b"", "Invalid JSON"),
        (dict, b"[]", "it is not a dict"),
        (list, b"", "it is not JSON"),
        (object, b"{", "it is not JSON"),
        (object, b"\xff\xfe", "it is not JSON"),
        (object, b"[" * 100_000, "it is not JSON"),
        (dict, b'{"a": NaN}', r"it is not JSON \(NaN is not a number"),
        (list, b"[-Infinity]", "-Infinity is not a number"),
        (object, b"1e999", "1e999 is too large for a float"),
        (object, b"-1" + b"0" * 400 + b".5", "too large for a float"),
        (object, '"text"'.encode("utf-16"), "it is not JSON"),
        (float, b"NaN", "NaN is not a number"),
        (FiniteFloat, b"1e999", "finite number"),
        (Decimal, b"1e999", "finite number"),
        (list[float], b"[Infinity]", "Infinity is not a number"),
        (RateDict, b'{"code": "NaN", "value": NaN}', "NaN is not a number"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_body_of_another_shape_is_an_invalid_body(
    as_type: type[Any], body: bytes, reason: str
) -> None:
    async with client_of(body) as client:
        with pytest.raises(InvalidBody, match=reason) as raised:
            await client.get_json("rates", "/x", as_type=as_type, params={"key": "secret"})
    assert raised.value.response.content == body
    assert "GET http://rates.test/x" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("status", [301, 404, 422, 503])
async def test_a_status_that_is_not_2xx_is_an_error_whatever_the_body(status: int) -> None:
    async with client_of(DOLLAR, status) as client:
        with pytest.raises(HttpError, match=f"answered with {status}: .*USD") as raised:
            await client.get_json("rates", "/", as_type=Rate)
    assert raised.value.status == status
    assert raised.value.excerpt == DOLLAR.decode()


async def test_a_transient_status_is_retried_before_it_is_an_error() -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"", 503, requests) as client:
        with pytest.raises(HttpError):
            await client.get_json("rates", "/", as_type=Rate)
    assert len(requests) == 2


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
async def test_every_method_has_a_typed_and_a_raw_form(method: str) -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"[1]", 201, requests) as client:
        raw = await getattr(client, method)("rates", "/raw", params={"a": "1"})
        typed = await getattr(client, f"{method}_json")("rates", "/typed", as_type=list[int])
    assert (raw.status_code, typed) == (201, [1])
    assert [request.method for request in requests] == [method.upper()] * 2
    assert [request.url.raw_path for request in requests] == [b"/raw?a=1", b"/typed"]


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ({"a": [1, None, "ä"]}, '{"a":[1,null,"ä"]}'),
        (Rate(code="USD", value=Decimal("41.20")), '{"code":"USD","value":"41.20"}'),
        ([PlainRate("USD", Decimal(1))], '[{"code":"USD","value":"1"}]'),
        ({"on": dt.date(2026, 11, 29)}, '{"on":"2026-11-29"}'),
        (0, "0"),
        (None, "null"),
    ],
)
async def test_a_body_may_be_any_value_that_json_or_pydantic_can_say(
    value: object, sent: str
) -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"1", requests=requests) as client:
        await client.post_json("rates", "/", json=value, as_type=int)
    assert requests[0].content.decode() == sent
    assert requests[0].headers["content-type"] == "application/json"


async def test_the_content_type_of_a_json_body_can_be_another() -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"", requests=requests) as client:
        headers = {"Content-Type": "application/merge-patch+json"}
        await client.patch("rates", "/", json={}, headers=headers)
    assert requests[0].headers.get_list("content-type") == ["application/merge-patch+json"]


async def test_a_call_without_json_has_no_body() -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"", requests=requests) as client:
        await client.post("rates", "/")
    assert requests[0].content == b""
    assert "content-type" not in requests[0].headers


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"json": float("nan")}, ValueError, "JSON compliant.*send null or text instead"),
        pytest.param({"json": object()}, TypeError, "a body cannot hold", id="object"),
        pytest.param({"json": nested(100_000)}, ValueError, "nested too deeply", id="deep"),
        ({"json": 1, "content": "1"}, ValueError, "drop one"),
        ({"parms": {}}, TypeError, "unknown option parms; known: .*params"),
    ],
    ids=str,
)
async def test_a_request_that_cannot_be_made_is_refused_before_it_is_sent(
    options: Any,  # noqa: ANN401
    error: type[Exception],
    message: str,
) -> None:
    requests: list[httpx.Request] = []
    async with client_of(b"", requests=requests) as client:
        with pytest.raises(error, match=message):
            await client.post("rates", "/", **options)
    assert requests == []


def test_an_excerpt_is_short_and_whole_characters() -> None:
    assert excerpt_of(httpx.Response(200, text="€" * 200)) == "€" * 200
    assert excerpt_of(httpx.Response(200, text="€" * 201)) == "€" * 200 + "…"
    assert excerpt_of(httpx.Response(200, content=b"\xff")) == "�"


_WITHOUT_PYDANTIC = """
import asyncio, dataclasses, random, sys

for absent in "fastapi starlette pandas locust pydantic pydantic_core opentelemetry".split():
    sys.modules[absent] = None

import httpx
from resilience import ResilientClient, Source

@dataclasses.dataclass
class Rate:
    code: str

requests = []

def answer(request):
    requests.append(request)
    return httpx.Response(200, json={"code": "USD"})

async def main():
    rates = Source(name="rates", base_url="http://rates.test")
    transport = httpx.MockTransport(answer)
    async with ResilientClient([rates], random=random.Random(1), transport=transport) as client:
        assert await client.post_json("rates", "/", json=[1], as_type=dict) == {"code": "USD"}
        reading = client.get_json("rates", "/", as_type=Rate)
        sending = client.post("rates", "/", json=Rate("USD"))
        for attempt in (reading, sending):
            try:
                await attempt
            except (ImportError, TypeError) as error:
                print(error)
    assert len(requests) == 1

asyncio.run(main())
"""


def test_the_library_works_without_pydantic_and_says_what_needs_it() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", _WITHOUT_PYDANTIC],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.stderr == ""
    reading, sending = ended.stdout.splitlines()
    assert "needs pydantic, which is not installed" in reading
    assert "not JSON serializable" in sending
