"""What cannot be sent is refused before a policy hears of it: not counted, and no token spent."""

import posixpath
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import yarl
from hypothesis import given
from hypothesis import strategies as st

from resilience import (
    BreakerSettings,
    Event,
    Policies,
    RateLimit,
    ResilientClient,
    RetrySettings,
    Source,
)
from resilience.request import Params, build_request

ONE_TOKEN = Policies(
    retry=RetrySettings(max_retries=2, base_delay_s=0),
    rate_limit=RateLimit.per_minute(1, max_wait_s=0),
    breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1),
)


def client_of(
    requests: list[httpx.Request],
    base_url: str = "http://rates.test/v1",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> ResilientClient:
    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200)

    rates = Source(name="rates", base_url=base_url, headers=headers, policies=ONE_TOKEN)
    return ResilientClient([rates], random=Random(1), transport=httpx.MockTransport(answer))


async def stream_of(client: ResilientClient, **parts: Any) -> None:  # noqa: ANN401
    async with client.stream(**parts):
        pass


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"method": "G ET"}, ValueError, "method must be a word"),
        ({"method": "GET\r\nX: y"}, ValueError, "method must be a word"),
        ({"method": ""}, ValueError, "method must be a word"),
        ({"method": None}, TypeError, "method has the wrong type"),
        ({"headers": {"x": "a\r\ny: b"}}, ValueError, "'x' holds a line break"),
        ({"headers": {"x": "a\x00"}}, ValueError, "'x' holds a line break"),
        ({"headers": {"x": "Київ"}}, ValueError, "not printable ASCII; encode it"),
        ({"headers": {"x\r\ny": "b"}}, ValueError, "cannot be named"),
        ({"headers": {"x y": "b"}}, ValueError, "cannot be named"),
        ({"headers": {"x:": "b"}}, ValueError, "cannot be named"),
        ({"headers": {"": "b"}}, ValueError, "cannot be named"),
        ({"headers": {"x": 5}}, TypeError, r"'x' has the wrong type \(int\)"),
        ({"headers": {5: "x"}}, TypeError, "name of a header has the wrong type"),
        ({"headers": "x"}, TypeError, "headers has the wrong type"),
        ({"headers": {"Content-Length": "1"}}, ValueError, "follows from the body; leave it out"),
        ({"headers": {"transfer-encoding": "chunked"}}, ValueError, "follows from the body"),
        ({"path": "/../admin"}, ValueError, "climbs out"),
        ({"path": "/a/.."}, ValueError, "climbs out"),
        ({"path": "/%2e%2E/admin"}, ValueError, "climbs out"),
        ({"path": "/.%2e/admin"}, ValueError, "climbs out"),
        ({"path": "/a%2f..%2f..%2fadmin"}, ValueError, "climbs out"),
        ({"path": "/..\\admin"}, ValueError, "climbs out"),
        ({"path": "/a#b"}, ValueError, 'write "%23"'),
        ({"path": "/a\nb"}, ValueError, "no URL can be made of path"),
        ({"path": "/" + "a" * 70_000}, ValueError, "no URL can be made .*URL too long"),
        ({"path": 5}, TypeError, "path has the wrong type"),
        ({"params": 5}, TypeError, "params has the wrong type"),
        ({"params": {"a": b"x"}}, TypeError, "the parameter 'a' has the wrong type: got b'x'"),
        ({"params": {"a": [{}]}}, TypeError, "the parameter 'a' has the wrong type"),
        ({"params": {1: "x"}}, TypeError, "the name of a parameter has the wrong type"),
        ({"params": {"a": "\ud800"}}, ValueError, r"params holds half a surrogate pair.*\\ud800"),
        ({"path": "/\ud800"}, ValueError, "path holds half a surrogate pair"),
        ({"content": "\ud800"}, ValueError, "content holds half a surrogate pair"),
        ({"json": ["\ud800"]}, ValueError, "json holds half a surrogate pair"),
        ({"source": []}, TypeError, r"source has the wrong type: got \[\]"),
        ({"params": {"a": "b" * 70_000}}, ValueError, "no URL can be made"),
        ({"content": iter([b"a"])}, TypeError, "list_iterator.*join its parts"),
        ({"content": {"a": 1}}, TypeError, "content has the wrong type"),
        ({"content": bytearray(b"a")}, TypeError, "content has the wrong type"),
        ({"content": "a", "json": None}, ValueError, "drop one"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("streamed", [False, True], ids=["read", "streamed"])
async def test_what_cannot_be_sent_is_refused_uncounted(
    call: dict[str, Any], error: type[Exception], message: str, *, streamed: bool
) -> None:
    requests: list[httpx.Request] = []
    events: list[Event] = []
    async with client_of(requests) as client:
        client.subscribe(events.append)
        parts = {"method": "POST", "source": "rates", "path": "/", **call}
        with pytest.raises(error, match=message):
            await (stream_of if streamed else ResilientClient.request)(client, **parts)

        counted = client.statistics("rates")
        assert (counted.requests, counted.attempts, requests, events) == (0, 0, [], [])
        await client.get("rates", "/")  # the only token is still there
    assert len(requests) == 1


async def test_a_refusal_does_not_tell_the_value_of_a_header() -> None:
    async with client_of([]) as client:
        for secret in ("hunter2\n", b"hunter2"):
            with pytest.raises((ValueError, TypeError)) as raised:
                await client.get("rates", "/", headers={"x-key": secret})  # type: ignore[dict-item]
            assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", "/v1"),
        ("/a..b/...", "/v1/a..b/..."),
        ("/a?back=../..", "/v1/a?back=../.."),
        ("/%252e%252e/a", "/v1/%252e%252e/a"),
        ("/Львів", "/v1/%D0%9B%D1%8C%D0%B2%D1%96%D0%B2"),
    ],
)
async def test_a_path_that_stays_below_the_base_url_is_sent_as_it_is(
    path: str, target: str
) -> None:
    requests: list[httpx.Request] = []
    async with client_of(requests) as client:
        await client.get("rates", path)
    assert requests[0].url.raw_path.decode() == target


@given(st.lists(st.sampled_from([*"/.\\ab%", "%2e", "%2F", "%5c", "..", "%25"]), max_size=12))
def test_no_path_leads_out_of_the_base_url(parts: list[str]) -> None:
    path = "/" + "".join(parts)
    try:
        request = build_request("GET", "http://rates.test/v1", path, httpx.Headers(), {})
    except ValueError:
        return
    sent = yarl.URL(str(request.url)).raw_path  # as aiohttp writes it
    read = posixpath.normpath(unquote(sent).replace("\\", "/"))  # as a lenient server reads it
    assert all(f"{each}/".startswith("/v1/") for each in (sent, read))


@pytest.mark.parametrize(
    ("path", "params", "query"),
    [
        ("/?a=1", {"b": "2"}, "a=1&b=2"),
        ("/?a=1", {"a": "2"}, "a=1&a=2"),
        ("/?a=%20x&flag", {"b": "& "}, "a=%20x&flag&b=%26+"),
        ("/?a=1", {}, "a=1"),
        ("/?a=1", None, "a=1"),
        ("/?", {"b": "2"}, "b=2"),
        ("/", {}, ""),
        ("/", {"a": ["x", 1], "b": 2, "c": True, "d": None}, "a=x&a=1&b=2&c=true&d="),
    ],
)
async def test_a_query_in_the_path_and_params_are_both_sent(
    path: str, params: Params | None, query: str
) -> None:
    requests: list[httpx.Request] = []
    async with client_of(requests) as client:
        await client.get("rates", path, params=params)
    assert requests[0].url.query.decode() == query


async def test_credentials_in_the_base_url_are_a_header_that_a_call_may_replace() -> None:
    requests: list[httpx.Request] = []
    base_url = "http://me:p%40ss@rates.test"
    async with client_of(requests, base_url) as client:
        await client.get("rates", "/")
    async with client_of(requests, base_url, headers={"Authorization": "Bearer t"}) as client:
        await client.get("rates", "/")
    async with client_of(requests, base_url) as client:
        await client.get("rates", "/", headers={"authorization": "Bearer u"})
    assert {str(request.url) for request in requests} == {"http://rates.test/"}
    assert [request.headers.get_list("authorization") for request in requests] == [
        ["Basic bWU6cEBzcw=="],
        ["Bearer t"],
        ["Bearer u"],
    ]
