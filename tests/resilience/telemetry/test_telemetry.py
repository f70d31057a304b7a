import asyncio
import subprocess
import sys
from random import Random

import httpx
import pytest
from opentelemetry import context, trace
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
from tests.resilience.recorded import attributes, recorded

pytestmark = pytest.mark.virtual_clock

RETRIED = Policies(retry=RetrySettings(max_retries=2, base_delay_s=0.1, jitter=False))
HEDGED = Policies(hedge=HedgeSettings(delay_s=0.1))
ONE_FAILURE_OPENS = Policies(breaker=BreakerSettings(failure_ratio=None, consecutive_failures=1))
SUPPRESSED = context._SUPPRESS_INSTRUMENTATION_KEY
SUPPRESSED_HTTP = context._SUPPRESS_HTTP_INSTRUMENTATION_KEY


async def test_a_call_is_an_internal_span_with_its_attempts_as_children() -> None:
    async with recorded(RETRIED, lambda n: 503 if n == 1 else 200) as record:
        await record.client.get("rates", "/")
    (call,), (failed, good) = record.calls(), record.attempts()
    assert call.parent is None
    assert [span.parent for span in (failed, good)] == [call.context, call.context]
    assert (call.name, failed.name, good.name) == ("GET rates", "GET", "GET")
    assert attributes(call) == {
        "resilience.source": "rates",
        "http.request.method": "GET",
        "http.response.status_code": 200,
    }
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


async def test_an_attempt_is_a_client_span_as_the_semantic_conventions_have_it() -> None:
    async with recorded(
        RETRIED, lambda n: 503 if n == 1 else 200, base_url="https://rates.example:8443/v1"
    ) as record:
        await record.client.post(
            "rates", "/usd", params={"days": "3"}, headers={"idempotency-key": "k"}
        )
    first, second = record.attempts()
    assert attributes(first) == {
        "resilience.source": "rates",
        "http.request.method": "POST",
        "server.address": "rates.example",
        "server.port": 8443,
        "url.full": "https://rates.example:8443/v1/usd?days=3",
        "http.response.status_code": 503,
        "error.type": "503",
    }
    assert attributes(second)["http.request.resend_count"] == 1
    assert first.instrumentation_scope is not None
    assert first.instrumentation_scope.schema_url == "https://opentelemetry.io/schemas/1.23.1"


async def test_each_attempt_after_the_first_tells_how_many_were_sent_before_it() -> None:
    policies = Policies(
        retry=RetrySettings(max_retries=1, base_delay_s=0.1, jitter=False),
        hedge=HedgeSettings(delay_s=0.1),
        attempt_timeout_s=0.2,
    )
    async with recorded(policies, lambda n: 200 if n == 3 else 9.0) as record:
        await record.client.get("rates", "/")
    first, hedge, retry = map(attributes, record.attempts())
    assert "http.request.resend_count" not in first
    assert hedge["http.request.resend_count"] == 1
    assert retry["http.request.resend_count"] == 2


async def test_a_404_is_an_error_of_the_request_and_none_of_the_call() -> None:
    async with recorded(Policies(), lambda _n: 404) as record:
        await record.client.get("rates", "/")
    (call,), (attempt,) = record.calls(), record.attempts()
    assert attempt.status.status_code is StatusCode.ERROR
    assert attempt.status.description is None  # the status code says it
    assert attributes(attempt)["error.type"] == "404"
    assert call.status.status_code is StatusCode.UNSET
    assert "error.type" not in attributes(call)


async def test_an_exception_is_told_by_its_qualified_name_and_not_by_its_text() -> None:
    async with recorded(Policies(), lambda _n: httpx.ConnectError("refused")) as record:
        with pytest.raises(httpx.ConnectError):
            await record.client.get("rates", "/")
    for span in (*record.calls(), *record.attempts()):
        assert attributes(span)["error.type"] == "httpx.ConnectError"
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None  # it might quote a secret of the URL
        assert "http.response.status_code" not in attributes(span)


async def test_an_attempt_that_timed_out_is_told_by_the_time_out() -> None:
    async with recorded(Policies(attempt_timeout_s=1), lambda _n: 9.0) as record:
        await asyncio.gather(record.client.get("rates", "/"), return_exceptions=True)
    (attempt,) = record.attempts()
    assert attributes(attempt)["error.type"] == "resilience.errors.AttemptTimeout"


async def test_a_call_is_a_child_of_the_callers_span_which_is_current_again_afterwards() -> None:
    async with recorded(RETRIED, lambda _n: 200) as record:
        tracer = record.tracers.get_tracer("caller")
        with tracer.start_as_current_span("caller") as caller:
            await record.client.get("rates", "/")
            assert trace.get_current_span() is caller
    assert record.calls()[0].parent == caller.get_span_context()


async def test_calls_side_by_side_keep_their_attempts_apart() -> None:
    async with recorded(RETRIED, lambda n: 503 if n % 3 == 0 else n / 100) as record:
        await asyncio.gather(*(record.client.get("rates", "/") for _ in range(10)))
    calls = {context.span_id for span in record.calls() if (context := span.context)}
    attempts = record.attempts()
    assert len(calls) == 10
    assert {span.parent.span_id for span in attempts if span.parent} == calls
    assert len(attempts) > 10


async def test_a_hedge_is_a_second_attempt_of_the_same_call_and_the_loser_is_cancelled() -> None:
    async with recorded(HEDGED, lambda n: 9.0 if n == 1 else 0.05) as record:
        await record.client.get("rates", "/")
    (call,), (won, lost) = record.calls(), record.attempts()
    assert won.parent == lost.parent == call.context
    assert attributes(won)["http.request.resend_count"] == 1
    assert attributes(lost)["error.type"] == "asyncio.exceptions.CancelledError"
    assert lost.status.status_code is StatusCode.ERROR
    assert [event.name for event in call.events] == ["hedge.started", "hedge.ended"]


async def test_hedges_of_calls_side_by_side_belong_each_to_its_own_call() -> None:
    async with recorded(HEDGED, lambda n: 9.0 if n <= 5 else 0.05) as record:
        await asyncio.gather(*(record.client.get("rates", "/") for _ in range(5)))
    parents = [span.parent.span_id for span in record.attempts() if span.parent]
    calls = [context.span_id for span in record.calls() if (context := span.context)]
    assert sorted(parents) == sorted(calls * 2)
    for call in record.calls():
        assert [event.name for event in call.events] == ["hedge.started", "hedge.ended"]


async def test_a_cancelled_call_leaves_no_span_open_and_each_in_error() -> None:
    async with recorded(Policies(), lambda _n: 9.0) as record:
        call = asyncio.create_task(record.client.get("rates", "/"))
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    spans = record.spans.get_finished_spans()
    assert [span.name for span in spans] == ["GET", "GET rates"]
    for span in spans:
        assert attributes(span)["error.type"] == "asyncio.exceptions.CancelledError"
        assert span.status.status_code is StatusCode.ERROR


async def test_a_rejected_call_has_no_attempt_and_tells_why() -> None:
    async with recorded(ONE_FAILURE_OPENS, lambda _n: 500) as record:
        for _ in range(2):
            await asyncio.gather(record.client.get("rates", "/"), return_exceptions=True)
    _, rejected = record.calls()
    assert len(record.attempts()) == 1
    assert attributes(rejected)["error.type"] == "resilience.errors.CircuitOpen"
    assert rejected.status.status_code is StatusCode.ERROR
    assert [event.name for event in rejected.events] == ["call.rejected"]


async def test_a_fallback_is_noted_on_the_call() -> None:
    def kept(_request: httpx.Request, _failure: object) -> httpx.Response:
        return httpx.Response(203)

    async with recorded(
        Policies(fallback=Fallback(answer=kept)), lambda _n: httpx.ReadError("cut")
    ) as record:
        await record.client.get("rates", "/")
    (call,) = record.calls()
    (event,) = call.events
    assert event.name == "fallback.used"
    assert (event.attributes or {})["resilience.cause"] == "httpx.ReadError"
    assert attributes(call)["http.response.status_code"] == 203


async def test_a_streams_span_ends_with_its_headers() -> None:
    async with (
        recorded(Policies(), lambda _n: 200) as record,
        record.client.stream("GET", "rates", "/"),
    ):
        assert [span.kind for span in record.spans.get_finished_spans()] == [
            SpanKind.CLIENT,
            SpanKind.INTERNAL,
        ]
        assert not trace.get_current_span().is_recording()


async def test_where_the_caller_suppresses_instrumentation_there_are_no_spans() -> None:
    async with recorded(RETRIED, lambda n: 503 if n == 1 else 200) as record:
        token = context.attach(context.set_value(SUPPRESSED, True))
        await record.client.get("rates", "/")
        context.detach(token)
    assert record.spans.get_finished_spans() == ()


async def test_instrumentation_of_the_http_library_further_in_is_told_to_be_silent() -> None:
    silent: list[object] = []

    def look(_n: int) -> int:
        silent.append(context.get_value(SUPPRESSED_HTTP))
        return 200

    async with recorded(Policies(), look) as record:
        await record.client.get("rates", "/")
        assert silent == [True]
        assert context.get_value(SUPPRESSED_HTTP) is None


async def test_without_opentelemetry_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    source = Source(name="rates", base_url="http://rates")
    transport = httpx.MockTransport(lambda _request: httpx.Response(200))
    async with ResilientClient([source], random=Random(1), transport=transport) as client:
        assert instrument(client) is False
        assert (await client.get("rates", "/")).status_code == 200


async def test_secret_parameters_of_a_wrong_kind_are_refused() -> None:
    async with ResilientClient([], random=Random(1)) as client:
        with pytest.raises(TypeError, match="secret_parameters has the wrong type: got 'appid'"):
            instrument(client, secret_parameters="appid")  # noqa: S106 - a name
        with pytest.raises(TypeError, match="a secret parameter has the wrong type: got 1"):
            instrument(client, secret_parameters=[1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "missing", ["fastapi", "locust", "opentelemetry", "pandas", "pydantic", "redis"]
)
def test_the_package_needs_none_of_what_only_some_of_its_users_have(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; import resilience, resilience.telemetry; "
        "print(any(name.startswith('resilience.telemetry.') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
