"""OpenTelemetry for a client, if it is installed (the extra `otel`).

Nothing of OpenTelemetry is imported before `instrument` is called.
"""

from typing import TYPE_CHECKING

from resilience.client import ResilientClient

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


def instrument(
    client: ResilientClient,
    *,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
) -> bool:
    """Record what happens to the calls of `client`; see `CallSpans` and `CallMetrics`.

    Call it once a client.

    Args:
        client: What to listen to.
        tracer_provider: Where the spans go; None for OpenTelemetry's global one.
        meter_provider: Where the metrics go; None for OpenTelemetry's global one.

    Returns:
        Whether OpenTelemetry is installed; if not, nothing is recorded.
    """
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - may be missing
    except ImportError:
        return False
    from resilience.telemetry_metrics import CallMetrics  # noqa: PLC0415 - needs the above
    from resilience.telemetry_spans import CallSpans  # noqa: PLC0415

    client.subscribe(CallSpans(trace.get_tracer("resilience", tracer_provider=tracer_provider)))
    meter = metrics.get_meter("resilience", meter_provider=meter_provider)
    client.subscribe(CallMetrics(meter, breaker_of=client.breaker))
    return True
