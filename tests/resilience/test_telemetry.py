import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from resilience import (
    BreakerSettings,
    Fallback,
    HedgeSettings,
    Policies,
    ResilientClient,
    RetrySettings,
    Source,
)
from resilience.telemetry import instrument

pytestmark = pytest.mark.virtual_clock

Answer = Callable[[int], httpx.Response]
RETRIED = Policies(retry=RetrySettings(max_retries=2, base_delay_s=0.1, jitter=False))


@dataclass
class Recorded:
    """A client whose n-th request is answered by `answer(n)`, and what OpenTelemetry got of it."""

    client: ResilientClient
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    tracers: TracerProvider = field(default_factory=TracerProvider)

    def finished(self, name: str) -> list[ReadableSpan]:
        """Return the finished spans of that name, in the order of their end."""
        return [span for span in self.spans.get_finished_spans() if span.name == name]

    def metric(self, name: str) -> dict[tuple[object, ...], float]:
        """Return the values of a metric (a histogram's counts) by their attributes' values."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            tuple((point.attributes or {}).values()): (
                point.count if isinstance(point, HistogramDataPoint) else point.value
            )
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
            if not hasattr(point, "zero_count")
        }


@asynccontextmanager
async def recorded(
    policies: Policies, answer: Callable[[int], int | float]
) -> AsyncIterator[Recorded]:
    requests = 0

    async def respond(_request: httpx.Request) -> httpx.Response:
        nonlocal requests
        requests += 1
        step = answer(requests)
        if isinstance(step, float):
            await asyncio.sleep(step)
            step = 200
        return httpx.Response(step)

    source = Source(name="rates", base_url="http://rates", policies=policies)
    client = ResilientClient([source], random=Random(1), transport=httpx.MockTransport(respond))
    record = Recorded(client)
    record.tracers.add_span_processor(SimpleSpanProcessor(record.spans))
    meters = MeterProvider(metric_readers=[record.reader])
    assert instrument(client, tracer_provider=record.tracers, meter_provider=meters)
    async with client:
        yield record
    meters.shutdown()
    record.tracers.shutdown()


async def test_a_call_is_a_span_with_its_attempts_as_children() -> None:
    async with recorded(RETRIED, lambda n: 503 if n == 1 else 200) as record:
        await record.client.get("rates", "/")
    (call,) = record.finished("GET rates")
    failed, good = record.finished("attempt")
    assert call.parent is None
    assert [span.parent for span in (failed, good)] == [call.context, call.context]
    assert (call.kind, failed.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert dict(call.attributes or {}) == {
        "resilience.source": "rates",
        "http.request.method": "GET",
        "http.response.status_code": 200,
    }
    assert dict(failed.attributes or {}) == {
        "resilience.source": "rates",
        "http.request.resend_count": 0,
        "http.response.status_code": 503,
        "error.type": "503",
    }
    assert (good.attributes or {})["http.request.resend_count"] == 1
    assert [span.status.status_code for span in (call, failed, good)] == [
        StatusCode.UNSET,
        StatusCode.ERROR,
        StatusCode.UNSET,
    ]
    (event,) = call.events
    assert event.name == "retry.scheduled"
    assert dict(event.attributes or {}) == {
        "resilience.attempt": 1,
        "resilience.cause": 503,
        "resilience.delay_s": 0.1,
    }


async def test_a_call_is_a_child_of_the_callers_span_which_is_current_again_afterwards() -> None:
    async with recorded(RETRIED, lambda _n: 200) as record:
        tracer = record.tracers.get_tracer("caller")
        with tracer.start_as_current_span("caller") as caller:
            await record.client.get("rates", "/")
            assert trace.get_current_span() is caller
    (call,) = record.finished("GET rates")
    assert call.parent == caller.get_span_context()


async def test_calls_side_by_side_keep_their_attempts_apart() -> None:
    async with recorded(RETRIED, lambda n: 503 if n % 3 == 0 else n / 100) as record:
        await asyncio.gather(*(record.client.get("rates", "/") for _ in range(10)))
    calls = {context.span_id for span in record.finished("GET rates") if (context := span.context)}
    attempts = record.finished("attempt")
    assert len(calls) == 10
    assert {span.parent.span_id for span in attempts if span.parent} == calls
    assert len(attempts) > 10


async def test_a_hedge_is_a_second_attempt_of_the_same_call_and_the_loser_no_error() -> None:
    policies = Policies(hedge=HedgeSettings(delay_s=0.1))
    async with recorded(policies, lambda n: 9.0 if n == 1 else 0.05) as record:
        await record.client.get("rates", "/")
        assert record.metric("resilience.hedges") == {("rates", "won"): 1}
        assert record.metric("resilience.attempt.duration") == {
            ("rates", "ok"): 1,
            ("rates", "cancelled"): 1,
        }
    (call,) = record.finished("GET rates")
    won, lost = record.finished("attempt")
    assert won.parent == lost.parent == call.context
    assert (lost.attributes or {})["error.type"] == "CancelledError"
    assert lost.status.status_code is StatusCode.UNSET
    assert [event.name for event in call.events][-1] == "hedge.ended"


async def test_a_cancelled_call_leaves_no_span_open() -> None:
    async with recorded(Policies(), lambda _n: 9.0) as record:
        call = asyncio.create_task(record.client.get("rates", "/"))
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert record.metric("resilience.call.duration") == {("rates", "cancelled"): 1}
    assert [span.name for span in record.spans.get_finished_spans()] == ["attempt", "GET rates"]


async def test_what_happened_is_counted() -> None:
    policies = Policies(
        retry=RetrySettings(max_retries=2, base_delay_s=0, jitter=False),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=3),
    )
    async with recorded(policies, lambda n: 200 if n in {1, 5} else 500) as record:
        await record.client.get("rates", "/")
        assert record.metric("resilience.circuit.state") == {("rates",): 0}
        await record.client.get("rates", "/")
        await asyncio.gather(record.client.get("rates", "/"), return_exceptions=True)
        assert record.metric("resilience.circuit.state") == {("rates",): 2}
        assert record.metric("resilience.call.duration") == {
            ("rates", "ok"): 1,
            ("rates", "failed"): 2,
        }
        assert record.metric("resilience.attempt.duration") == {
            ("rates", "ok"): 1,
            ("rates", "failed"): 3,
        }
        assert record.metric("resilience.retries") == {("rates",): 2}
        assert record.metric("resilience.rejections") == {("rates", "circuit"): 1}
    rejected = record.finished("GET rates")[-1]
    assert (rejected.attributes or {})["error.type"] == "CircuitOpen"
    assert rejected.status.status_code is StatusCode.ERROR


async def test_a_fallback_is_counted_and_noted_on_the_call() -> None:
    def kept(_request: httpx.Request, _failure: object) -> httpx.Response:
        return httpx.Response(203)

    async with recorded(Policies(fallback=Fallback(answer=kept)), lambda _n: 500) as record:
        await record.client.get("rates", "/")
        assert record.metric("resilience.fallbacks") == {("rates", "used"): 1}
    (call,) = record.finished("GET rates")
    assert [event.name for event in call.events] == ["fallback.used"]
    assert (call.attributes or {})["http.response.status_code"] == 203


async def test_without_opentelemetry_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    source = Source(name="rates", base_url="http://rates")
    transport = httpx.MockTransport(lambda _request: httpx.Response(200))
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        assert instrument(client) is False
        assert (await client.get("rates", "/")).status_code == 200


@pytest.mark.parametrize(
    "missing", ["fastapi", "locust", "opentelemetry", "pandas", "pydantic", "redis"]
)
def test_the_package_needs_none_of_what_only_some_of_its_users_have(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; import resilience, resilience.telemetry; "
        "print(any(name.startswith('resilience.telemetry_') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
