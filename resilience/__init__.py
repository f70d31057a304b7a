"""Client-side policies for calls to an unreliable source.

A `ResilientClient` sends each call through the `Pipeline` of its source. A policy is a *layer*:
a callable around the layer inside it, with settings of its own. Outermost first:

    fallback        FallbackLayer
    total_timeout   TotalTimeoutLayer
    retry           RetryLayer        retry_settings, retry_decision, retry_budget, retry_after,
                                      retry_wait, backoff
    hedge           HedgeLayer        hedge_race, recent_latencies
    admission       AdmissionLayer    circuit, queue, slot, token, circuit
        breaker                       breaker_settings, circuit_breaker, permit, window
        bulkhead                      bulkhead, waiting_line; or else
        adaptive                      adaptive, adaptive_limit, which set a bulkhead's size
        rate limit                    rate_limit, token_bucket, waiting_line
    attempt         AttemptLayer
    transport       the wire

The client's own half: `raw_calls`, `json_calls` and `streaming` are the ways to call, `request`
is what a call may say.

`outcome` says what is transient, `events` what subscribers hear, `statistics` what is counted,
`errors` what calls raise. `CircuitBreaker`, `TokenBucket`, `Bulkhead`, `AdaptiveConcurrency`,
`RetryLedger`, `RetryWaits` and `RetryLayer` are of use alone; `Retrying` repeats other things than
HTTP. Every limit, window and wait runs on the event loop's clock, every random draw on the
generator that is passed in.

Three modules are not imported here: `telemetry`, which needs OpenTelemetry, `shared_state`, which
needs redis, and `testing`. pybreaker imports redis wherever that is installed, and redis the SDK of
OpenTelemetry.
"""

from resilience.adaptive import AdaptiveConcurrency, Measurement
from resilience.adaptive_limit import AdaptiveSettings, AimdLimit
from resilience.breaker_settings import BreakerSettings, Trip
from resilience.bulkhead import Bulkhead, BulkheadSettings
from resilience.call import Call
from resilience.circuit_breaker import CircuitBreaker
from resilience.client import ResilientClient
from resilience.errors import (
    AttemptTimeout,
    BulkheadFull,
    CircuitOpen,
    HttpError,
    InvalidBody,
    OpenedElsewhere,
    RateLimited,
    ResilienceError,
    ResponseTooLarge,
    StaleConnection,
    StreamIdle,
    TotalTimeout,
    UndecodableBody,
    UnwantedResult,
)
from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CallEnded,
    CallEvent,
    CallRejected,
    CallStarted,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Event,
    FallbackFailed,
    FallbackUsed,
    GaveUp,
    GaveUpReason,
    HedgeEnded,
    HedgeResult,
    HedgeStarted,
    LimitChanged,
    LimitReason,
    QueueRejected,
    RateLimitDelayed,
    RetryScheduled,
    ServerRateLimited,
)
from resilience.fallback import Fallback
from resilience.hedging import HedgeSettings
from resilience.permit import Permit
from resilience.pipeline import Pipeline
from resilience.rate_limit import RateLimit
from resilience.request import RequestOptions
from resilience.retry import RetryLayer
from resilience.retry_budget import RetryBudget, RetryLedger
from resilience.retry_settings import RetrySettings
from resilience.retry_wait import RetryWaits
from resilience.retrying import Retrying
from resilience.source import Overrides, Policies, Source
from resilience.statistics import SourceStatistics
from resilience.subscribers import Subscribers
from resilience.token_bucket import TokenBucket

__all__ = [
    "AdaptiveConcurrency",
    "AdaptiveSettings",
    "AimdLimit",
    "AttemptCancelled",
    "AttemptFailed",
    "AttemptStarted",
    "AttemptSucceeded",
    "AttemptTimeout",
    "BreakerSettings",
    "Bulkhead",
    "BulkheadFull",
    "BulkheadSettings",
    "Call",
    "CallEnded",
    "CallEvent",
    "CallRejected",
    "CallStarted",
    "CircuitBreaker",
    "CircuitClosed",
    "CircuitHalfOpened",
    "CircuitOpen",
    "CircuitOpened",
    "Event",
    "Fallback",
    "FallbackFailed",
    "FallbackUsed",
    "GaveUp",
    "GaveUpReason",
    "HedgeEnded",
    "HedgeResult",
    "HedgeSettings",
    "HedgeStarted",
    "HttpError",
    "InvalidBody",
    "LimitChanged",
    "LimitReason",
    "Measurement",
    "OpenedElsewhere",
    "Overrides",
    "Permit",
    "Pipeline",
    "Policies",
    "QueueRejected",
    "RateLimit",
    "RateLimitDelayed",
    "RateLimited",
    "RequestOptions",
    "ResilienceError",
    "ResilientClient",
    "ResponseTooLarge",
    "RetryBudget",
    "RetryLayer",
    "RetryLedger",
    "RetryScheduled",
    "RetrySettings",
    "RetryWaits",
    "Retrying",
    "ServerRateLimited",
    "Source",
    "SourceStatistics",
    "StaleConnection",
    "StreamIdle",
    "Subscribers",
    "TokenBucket",
    "TotalTimeout",
    "Trip",
    "UndecodableBody",
    "UnwantedResult",
]
