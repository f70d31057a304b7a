import json
from collections.abc import Callable
from random import Random
from typing import Any

import httpx
import pytest

from resilience import (
    AdaptiveConcurrency,
    AttemptStarted,
    BreakerSettings,
    Bulkhead,
    BulkheadSettings,
    CallEnded,
    CallEvent,
    CircuitBreaker,
    CircuitOpen,
    Event,
    Pipeline,
    Policies,
    ResilientClient,
    RetryLayer,
    RetryLedger,
    RetrySettings,
    Source,
    Subscribers,
    TokenBucket,
)
from resilience.shared_state import SharedCircuits
from resilience.telemetry import instrument
from tests.resilience.peers import uvicorn_peer


def source(name: str = "rates", policies: Policies | None = None) -> Source:
    return Source(
        name=name,
        base_url="http://rates.test/v1/",
        headers={"x-key": "k", "x-kept": "yes"},
        policies=policies or Policies(),
    )


class Server:
    """Records requests and answers each with the next status."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests.append(request)
        return httpx.Response(self.statuses.pop(0), json={"n": len(self.requests)})

    def client(self, *sources: Source) -> ResilientClient:
        """Return a client whose requests all come here."""
        return ResilientClient(sources, random=Random(1), transport=httpx.MockTransport(self))


async def test_a_request_is_made_of_the_sources_and_the_calls_parts() -> None:
    server = Server(200)
    async with server.client(source()) as client:
        response = await client.get(
            "rates", "/rates/USD", params={"at": "a b&c"}, headers={"x-key": "mine"}
        )
    (request,) = server.requests
    assert str(request.url) == "http://rates.test/v1/rates/USD?at=a+b%26c"
    assert request.headers["x-key"] == "mine"
    assert request.headers["x-kept"] == "yes"
    assert response.json() == {"n": 1}
    assert response.is_closed
    assert response.request is request


async def test_a_body_is_sent_again_with_each_attempt() -> None:
    server = Server(503, 500, 201)
    policies = Policies(retry=RetrySettings(max_retries=2, base_delay_s=0))
    async with server.client(source(policies=policies)) as client:
        response = await client.request(
            "post", "rates", "/orders", json={"amount": 5}, headers={"Idempotency-Key": "o-1"}
        )
    assert response.status_code == 201
    assert [json.loads(request.content) for request in server.requests] == [{"amount": 5}] * 3


async def test_each_source_has_a_breaker_of_its_own() -> None:
    server = Server(500, 200)
    policies = Policies(breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1))
    async with server.client(
        source("sick", policies), source("well", policies), source("bare")
    ) as client:
        await client.get("sick", "/")
        with pytest.raises(CircuitOpen, match="'sick'"):
            await client.get("sick", "/")
        assert (await client.get("well", "/")).status_code == 200
        sick = client.breaker("sick")
        assert sick is not None
        assert sick.state == "open"
        assert client.breaker("bare") is None


async def test_a_post_without_an_idempotency_key_is_sent_once() -> None:
    server = Server(500)
    policies = Policies(retry=RetrySettings(max_retries=2, base_delay_s=0))
    async with server.client(source(policies=policies)) as client:
        assert (await client.request("POST", "rates", "/orders")).status_code == 500


async def test_a_circuit_is_isolated_and_reset_by_the_name_of_its_source() -> None:
    server = Server(200)
    guarded = source("guarded", Policies(breaker=BreakerSettings()))
    async with server.client(guarded, source("bare")) as client:
        client.isolate("guarded")
        with pytest.raises(CircuitOpen, match="isolated by hand"):
            await client.get("guarded", "/")
        client.reset("guarded")
        assert (await client.get("guarded", "/")).status_code == 200
        counted = client.statistics("guarded")
        assert (counted.ok, counted.circuit_rejects, counted.circuit_opened) == (1, 1, 1)
        with pytest.raises(ValueError, match="'bare' has no circuit breaker"):
            client.isolate("bare")


async def test_calls_are_numbered_through_all_sources() -> None:
    heard: list[Event] = []
    server = Server(200, 200, 200)
    async with server.client(source("one"), source("two")) as client:
        client.subscribe(heard.append)
        for name in ("one", "two", "one"):
            await client.get(name, "/")
    started = [event.request_id for event in heard if isinstance(event, AttemptStarted)]
    assert started == [1, 2, 3]


async def test_subscribers_hear_of_every_source() -> None:
    heard: list[Event] = []
    server = Server(200, 200)
    async with server.client(source("one"), source("two")) as client:
        client.subscribe(heard.append)
        await client.get("one", "/")
        await client.get("two", "/")
    started = [event.source for event in heard if isinstance(event, AttemptStarted)]
    assert started == ["one", "two"]


async def test_wrong_names_and_paths_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="two sources are named 'rates'"):
        Server().client(source(), source())
    with pytest.raises(TypeError, match="a source has the wrong type: got 'rates'"):
        Server().client("rates")  # type: ignore[arg-type]
    server = Server()
    async with server.client(source()) as client:
        with pytest.raises(ValueError, match="no source 'rate'; known: 'rates'"):
            await client.get("rate", "/")
        with pytest.raises(ValueError, match='must begin with "/"'):
            await client.get("rates", "@evil.test/")
        with pytest.raises(ValueError, match="no source"):
            client.breaker("rate")
    assert server.requests == []


async def echo_app(scope: dict[str, object], receive: object, send: object) -> None:
    """Answer with the request's method, path and body."""
    assert callable(receive)
    assert callable(send)
    body = (await receive())["body"]
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    echo = f"{scope['method']} {scope['path']} {body.decode()}".encode()
    await send({"type": "http.response.body", "body": echo})


async def test_a_real_server_is_called_through_all_policies() -> None:
    everything = Policies(
        total_timeout_s=5,
        retry=RetrySettings(),
        breaker=BreakerSettings(),
        attempt_timeout_s=3,
    )
    with uvicorn_peer(echo_app) as url:
        here = Source(name="here", base_url=url, policies=everything)
        async with ResilientClient([here], random=Random(1)) as client:
            got = await client.get("here", "/a")
            put = await client.request("PUT", "here", "/b", content="text")
    assert (got.status_code, got.text) == (404, "GET /a ")
    assert put.text == "PUT /b text"


async def _later(_event: Event) -> None:
    """Would never run: nobody awaits it."""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sources": source()}, "sources has the wrong type: got Source"),
        ({"random": 5}, r"random has the wrong type: got 5 \(int\); make it a Random"),
        ({"wall_clock": "noon"}, "wall_clock has the wrong type: got 'noon'"),
        ({"transport": "tcp"}, "transport has the wrong type: got 'tcp'"),
    ],
    ids=str,
)
def test_a_client_names_what_it_cannot_be_made_of(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ResilientClient(**{"sources": [source()], "random": Random(1), **wrong})


@pytest.mark.parametrize(
    ("handler", "kinds", "message"),
    [
        (None, None, "handler has the wrong type: got None"),
        (_later, None, "it is called without await"),
        (print, AttemptStarted, "kinds has the wrong type"),
        (print, ["AttemptStarted"], "a kind has the wrong type: got 'AttemptStarted'"),
        (print, [CallEnded, CallEvent], "the kind CallEvent is never published: .* leave kinds"),
        (print, [Event], "the kind Event is never published"),
    ],
)
async def test_a_handler_that_would_never_hear_anything_is_refused(
    handler: Any,  # noqa: ANN401 - wrong on purpose
    kinds: Any,  # noqa: ANN401
    message: str,
) -> None:
    async with Server().client(source()) as client:
        with pytest.raises(TypeError, match=message):
            client.subscribe(handler, kinds)


@pytest.mark.parametrize(
    "build",
    [
        lambda: TokenBucket("5/s", name="x"),  # type: ignore[arg-type]
        lambda: CircuitBreaker(None, name="x"),  # type: ignore[arg-type]
        lambda: Bulkhead(5, name="x"),  # type: ignore[arg-type]
        lambda: RetryLayer(3, random=Random(1)),  # type: ignore[arg-type]
        lambda: Pipeline({}, source="x", random=Random(1)),  # type: ignore[arg-type]
        lambda: AdaptiveConcurrency(BulkheadSettings(max_concurrent=1), name="x"),  # type: ignore[arg-type]
        lambda: RetryLedger(0.2),  # type: ignore[arg-type]
    ],
)
def test_each_part_alone_names_settings_that_are_not_its_own(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"(settings|limit|policies|budget) has the wrong type"):
        build()


async def test_a_transport_of_the_callers_own_is_closed_once_for_all_sources() -> None:
    class Counting(httpx.MockTransport):
        closed = 0

        async def aclose(self) -> None:
            Counting.closed += 1

    sources = [Source(name=name, base_url="http://x") for name in "abc"]
    transport = Counting(lambda _: httpx.Response(200))
    async with ResilientClient(sources, random=Random(1), transport=transport):
        pass
    assert Counting.closed == 1


async def test_a_client_is_instrumented_once() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    async with ResilientClient([], random=Random(1), transport=transport) as client:
        assert instrument(client)
        with pytest.raises(RuntimeError, match="instrumented already"):
            instrument(client)


def test_circuits_of_one_name_are_not_shared_as_two() -> None:
    breakers = [CircuitBreaker(BreakerSettings(), name="rates") for _ in range(2)]
    redis: Any = object()
    with pytest.raises(ValueError, match="two breakers are named 'rates'"):
        SharedCircuits(redis, breakers, subscribe=Subscribers().add)


async def test_default_policies_are_those_of_sources_without_any() -> None:
    own = Source(name="own", base_url="http://a", policies=Policies())
    none = Source(name="none", base_url="http://a")
    async with ResilientClient(
        [own, none],
        random=Random(1),
        default_policies=Policies(retry=RetrySettings(max_retries=2, base_delay_s=0)),
        transport=httpx.MockTransport(lambda _: httpx.Response(503)),
    ) as client:
        for name in client.sources:
            await client.get(name, "/")
    attempts = {name: client.statistics(name).attempts for name in client.sources}
    assert attempts == {"own": 1, "none": 3}
