"""An instrumented client, and what OpenTelemetry's SDK got of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import httpx
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from resilience import Policies, ResilientClient, Source
from resilience.telemetry import instrument

Step = int | float | Exception


@dataclass
class Recorded:
    """A client of the source `rates`, and all that came of its calls."""

    client: ResilientClient
    sent: list[httpx.Request] = field(default_factory=list)
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    tracers: TracerProvider = field(default_factory=TracerProvider)

    def calls(self) -> list[ReadableSpan]:
        """Return the finished spans of calls, in the order of their end."""
        return [span for span in self.spans.get_finished_spans() if span.kind is SpanKind.INTERNAL]

    def attempts(self) -> list[ReadableSpan]:
        """Return the finished spans of attempts, in the order of their end."""
        return [span for span in self.spans.get_finished_spans() if span.kind is SpanKind.CLIENT]

    def metric(self, name: str) -> Metric:
        """Return the metric of that name."""
        data = self.reader.get_metrics_data()
        assert data is not None
        (metric,) = (
            metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        )
        return metric

    def values(self, name: str) -> dict[tuple[object, ...], float]:
        """Return the values of a metric (a histogram's counts) by their attributes' values."""
        values: dict[tuple[object, ...], float] = {}
        for point in self.metric(name).data.data_points:
            of = tuple((point.attributes or {}).values())
            if isinstance(point, HistogramDataPoint):
                values[of] = point.count
            elif isinstance(point, NumberDataPoint):
                values[of] = point.value
        return values


def attributes(span: ReadableSpan) -> dict[str, object]:
    """Return the attributes of a span."""
    return dict(span.attributes or {})


@asynccontextmanager
async def recorded(
    policies: Policies,
    answer: Callable[[int], Step],
    *,
    base_url: str = "http://rates",
    secret_parameters: tuple[str, ...] = (),
) -> AsyncIterator[Recorded]:
    """Yield an instrumented client whose n-th request is answered by `answer(n)`.

    A status answers with it, an exception is raised, a float is slept through before a 200.
    """

    async def respond(request: httpx.Request) -> httpx.Response:
        record.sent.append(request)
        step = answer(len(record.sent))
        if isinstance(step, Exception):
            raise step
        if isinstance(step, float):
            await asyncio.sleep(step)
            step = 200
        return httpx.Response(step)

    source = Source(name="rates", base_url=base_url, policies=policies)
    client = ResilientClient([source], random=Random(1), transport=httpx.MockTransport(respond))
    record = Recorded(client)
    record.tracers.add_span_processor(SimpleSpanProcessor(record.spans))
    meters = MeterProvider(metric_readers=[record.reader])
    assert instrument(
        client,
        tracer_provider=record.tracers,
        meter_provider=meters,
        secret_parameters=secret_parameters,
    )
    async with client:
        yield record
    meters.shutdown()
    record.tracers.shutdown()
