"""OpenTelemetry for a client, if its SDK is installed (the extra `otel`).

It imports nothing of OpenTelemetry itself before `instrument` is called.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

from resilience._internal.checks import expect
from resilience.client import ResilientClient

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["instrument"]

_instrumented: WeakSet[ResilientClient] = WeakSet()
_KNOWN_METHODS = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"  # the conventions name it


def instrument(
    client: ResilientClient,
    *,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
    secret_parameters: Sequence[str] = (),
) -> bool:
    """Record spans and metrics of the calls of `client`, and send the trace's context with them.

    See `CallSpans`, `CallMetrics` and `PropagatingTransport`. Call it once per client; calls that
    are under way then are left out.

    Args:
        client: Whose calls to record.
        tracer_provider: Where the spans go; None for OpenTelemetry's global one.
        meter_provider: Where the metrics go; None for OpenTelemetry's global one.
        secret_parameters: Query parameters whose values no span may contain, in addition to the
            usual ones; case, "-" and "_" do not count.

    Returns:
        Whether OpenTelemetry is installed; if not, nothing is recorded and nothing sent.

    Raises:
        TypeError: `secret_parameters` is not a list of names.
        RuntimeError: The client is instrumented already.
    """
    expect("secret_parameters", secret_parameters, list | tuple, 'list them: ["appid"]')
    for name in secret_parameters:
        expect("a secret parameter", name, str, "give its name")
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - may be missing
        from opentelemetry.semconv.schemas import Schemas  # noqa: PLC0415 - comes with the SDK
    except ImportError:
        return False
    from resilience.telemetry._http import Conventions  # noqa: PLC0415 - needs the above
    from resilience.telemetry._metrics import CallMetrics  # noqa: PLC0415
    from resilience.telemetry._spans import CallSpans, PropagatingTransport  # noqa: PLC0415

    conventions = Conventions(
        known_methods=os.environ.get(_KNOWN_METHODS), secret_parameters=secret_parameters
    )
    schema_url = Schemas.V1_23_1.value  # the first in which all attributes used here are stable
    meter = metrics.get_meter("resilience", "", meter_provider, schema_url)
    tracer = trace.get_tracer("resilience", None, tracer_provider, schema_url)
    if client in _instrumented:
        raise RuntimeError("the client is instrumented already; once gives every span and metric")
    _instrumented.add(client)
    # The metrics first, so that a measurement's exemplar is the span that it was made in.
    client.subscribe(CallMetrics(meter, client, conventions))
    client.subscribe(CallSpans(tracer, conventions))
    client.wrap_transports(PropagatingTransport)
    return True
