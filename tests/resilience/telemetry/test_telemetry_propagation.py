import asyncio
from collections.abc import Iterator
from random import Random

import httpx
import pytest
from opentelemetry import baggage, context, propagate
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from resilience import HedgeSettings, Policies, ResilientClient, RetrySettings, Source
from resilience.telemetry import instrument
from tests.resilience.peers import read_request, scripted_peer
from tests.resilience.recorded import recorded


def traceparent(span: ReadableSpan) -> str:
    of = span.context
    assert of is not None
    return f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"


@pytest.fixture
def only_trace_context() -> Iterator[TextMapPropagator]:
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    yield before
    propagate.set_global_textmap(before)


@pytest.mark.virtual_clock
async def test_each_retry_carries_the_context_of_its_own_span() -> None:
    retried = Policies(retry=RetrySettings(max_retries=2, base_delay_s=0.1))
    async with recorded(retried, lambda n: 200 if n == 3 else 503) as record:
        response = await record.client.get("rates", "/", headers={"traceparent": "mine", "x": "y"})
    expected = [traceparent(span) for span in record.attempts()]
    assert len(set(expected)) == 3
    assert [request.headers["traceparent"] for request in record.sent] == expected
    assert [request.headers["x"] for request in record.sent] == ["y"] * 3
    assert response.request.headers["traceparent"] == "mine"  # the call's request is as it was


@pytest.mark.virtual_clock
async def test_an_attempt_and_its_hedge_carry_each_its_own_context() -> None:
    hedged = Policies(hedge=HedgeSettings(delay_s=0.1))
    async with recorded(hedged, lambda n: 0.3 if n == 1 else 9.0) as record:
        await record.client.get("rates", "/")
    expected = {traceparent(span) for span in record.attempts()}
    assert {request.headers["traceparent"] for request in record.sent} == expected
    assert len(expected) == 2


@pytest.mark.virtual_clock
async def test_a_request_is_sent_with_its_body_and_nothing_but_the_context_is_added() -> None:
    async with recorded(Policies(), lambda _n: 200) as record:
        response = await record.client.post("rates", "/", json={"usd": 1})
    (sent,) = record.sent
    assert sent.content == b'{"usd":1}'
    added = set(sent.headers.items()) - set(response.request.headers.items())
    assert {name for name, _ in added} == {"traceparent"}


@pytest.mark.virtual_clock
async def test_baggage_of_the_caller_goes_along_with_hedges_too() -> None:
    hedged = Policies(hedge=HedgeSettings(delay_s=0.1))

    async def call_of(tenant: str) -> None:
        context.attach(baggage.set_baggage("tenant", tenant))
        await record.client.get("rates", "/")

    async with recorded(hedged, lambda n: 9.0 if n <= 2 else 0.05) as record:
        await asyncio.gather(call_of("1"), call_of("2"))
    told = sorted(request.headers["baggage"] for request in record.sent)
    assert told == ["tenant=1", "tenant=1", "tenant=2", "tenant=2"]


@pytest.mark.virtual_clock
@pytest.mark.usefixtures("only_trace_context")
async def test_what_goes_along_is_what_the_global_propagator_says() -> None:
    async with recorded(Policies(), lambda _n: 200) as record:
        token = context.attach(baggage.set_baggage("tenant", "42"))
        await record.client.get("rates", "/")
        context.detach(token)
    assert "baggage" not in record.sent[0].headers
    assert "traceparent" in record.sent[0].headers


async def test_a_server_gets_the_context_over_the_wire_of_a_stream_too() -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_request(reader):
            heads.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    tracers, meters = TracerProvider(), MeterProvider()
    async with scripted_peer(answer) as url:
        source = Source(name="rates", base_url=url)
        async with ResilientClient([source], random=Random(1)) as client:
            assert instrument(client, tracer_provider=tracers, meter_provider=meters)
            with tracers.get_tracer("caller").start_as_current_span("caller") as caller:
                await client.get("rates", "/")
                async with client.stream("GET", "rates", "/") as response:
                    assert await response.aread() == b"ok"
    assert len(heads) == 2
    for head in heads:
        assert f"traceparent: 00-{caller.get_span_context().trace_id:032x}-".encode() in head
    tracers.shutdown()
    meters.shutdown()


@pytest.mark.virtual_clock
async def test_closing_the_client_closes_the_transport_inside() -> None:
    class Counting(httpx.MockTransport):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    transport = Counting(lambda _request: httpx.Response(200))
    source = Source(name="rates", base_url="http://rates")
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        instrument(client, tracer_provider=TracerProvider(), meter_provider=MeterProvider())
    assert transport.closed == 1
