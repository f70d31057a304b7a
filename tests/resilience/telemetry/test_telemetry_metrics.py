import asyncio

import httpx
import pytest
from opentelemetry.sdk.metrics.export import HistogramDataPoint

from resilience import (
    AdaptiveSettings,
    BreakerSettings,
    Fallback,
    HedgeSettings,
    Policies,
    RetrySettings,
)
from tests.resilience.recorded import Step, recorded

pytestmark = pytest.mark.virtual_clock


async def test_what_happened_is_counted() -> None:
    policies = Policies(
        retry=RetrySettings(max_retries=2, base_delay_s=0, jitter=False),
        breaker=BreakerSettings(failure_ratio=None, consecutive_failures=3),
    )
    async with recorded(policies, lambda n: 200 if n in {1, 5} else 500) as record:
        await record.client.get("rates", "/")
        assert record.values("resilience.circuit.state") == {("rates",): 0}
        await record.client.get("rates", "/")
        await asyncio.gather(record.client.get("rates", "/"), return_exceptions=True)
        assert record.values("resilience.circuit.state") == {("rates",): 2}
        assert record.values("resilience.call.duration") == {
            ("rates", "ok"): 1,
            ("rates", "failed"): 2,
        }
        assert record.values("resilience.attempt.duration") == {
            ("rates", "ok"): 1,
            ("rates", "failed"): 3,
        }
        assert record.values("resilience.retries") == {("rates",): 2}
        assert record.values("resilience.rejections") == {("rates", "circuit"): 1}


async def test_requests_are_timed_as_the_semantic_conventions_have_it() -> None:
    steps: list[Step] = [200, 404, httpx.ConnectError("refused")]
    async with recorded(Policies(), lambda n: steps[n - 1]) as record:
        for _ in steps:
            await asyncio.gather(record.client.get("rates", "/"), return_exceptions=True)
        metric = record.metric("http.client.request.duration")
    assert metric.unit == "s"
    every = {
        "resilience.source": "rates",
        "http.request.method": "GET",
        "server.address": "rates",
        "server.port": 80,
    }
    points = [point for point in metric.data.data_points if isinstance(point, HistogramDataPoint)]
    assert [dict(point.attributes or {}) for point in points] == [
        {**every, "http.response.status_code": 200},
        {**every, "http.response.status_code": 404, "error.type": "404"},
        {**every, "error.type": "httpx.ConnectError"},
    ]
    assert tuple(points[0].explicit_bounds) == (
        *(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75),
        *(1, 2.5, 5, 7.5, 10),
    )


@pytest.mark.parametrize(
    ("name", "span_name"),
    [
        ("http.client.request.duration", "GET"),
        ("resilience.attempt.duration", "GET"),
        ("resilience.call.duration", "GET rates"),
    ],
)
async def test_a_measurement_leads_to_the_span_that_it_was_made_in(
    name: str, span_name: str
) -> None:
    async with recorded(Policies(), lambda _n: 200) as record:
        await record.client.get("rates", "/")
        (point,) = record.metric(name).data.data_points
    (exemplar,) = point.exemplars
    spans = {span.name: span.context for span in record.spans.get_finished_spans()}
    context = spans[span_name]
    assert context is not None
    assert exemplar.span_id == context.span_id


async def test_hedges_are_counted_by_what_became_of_them() -> None:
    policies = Policies(hedge=HedgeSettings(delay_s=0.1))
    async with recorded(policies, lambda n: 9.0 if n == 1 else 0.05) as record:
        await record.client.get("rates", "/")
        assert record.values("resilience.hedges") == {("rates", "won"): 1}
        assert record.values("resilience.attempt.duration") == {
            ("rates", "ok"): 1,
            ("rates", "cancelled"): 1,
        }


async def test_a_cancelled_call_is_counted_as_such() -> None:
    async with recorded(Policies(), lambda _n: 9.0) as record:
        call = asyncio.create_task(record.client.get("rates", "/"))
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert record.values("resilience.call.duration") == {("rates", "cancelled"): 1}


async def test_a_fallback_is_counted() -> None:
    def kept(_request: httpx.Request, _failure: object) -> httpx.Response:
        return httpx.Response(203)

    async with recorded(Policies(fallback=Fallback(answer=kept)), lambda _n: 500) as record:
        await record.client.get("rates", "/")
        assert record.values("resilience.fallbacks") == {("rates", "used"): 1}


async def test_the_adaptive_limit_is_a_gauge() -> None:
    adaptive = AdaptiveSettings(initial_limit=40, min_limit=4)
    async with recorded(Policies(adaptive=adaptive), lambda n: 200 if n == 1 else 503) as record:
        await record.client.get("rates", "/")
        assert record.values("resilience.concurrency.limit") == {("rates",): 40}
        for _ in range(200):
            await record.client.get("rates", "/")
        (limit,) = record.values("resilience.concurrency.limit").values()
        assert limit < 40
