"""Client-side policies for calls to an unreliable source.

A `ResilientClient` sends each call through the `Pipeline` of its source. A policy is a *layer*:
a callable around the layer inside it, with settings of its own. Outermost first:

    fallback        FallbackLayer     fallback
    total_timeout   TotalTimeoutLayer total_timeout
    retry           RetryLayer        retry/
    hedge           HedgeLayer        hedge/
    admission       AdmissionLayer    admission: circuit, queue, slot, token, circuit
        breaker                       breaker/
        bulkhead, or adaptive         concurrency/
        rate limit                    rate_limit/
    attempt         AttemptLayer      attempt
    transport                         wire/

In `calls/` are the ways to call and what a call may say, in `timing/` the deadlines, in `checks/`
what refuses wrong settings; a `GuardedSource` puts the parts of one source together.

`outcome` says what is transient, `events` what subscribers hear, `statistics` what is counted,
`errors` what calls raise. `CircuitBreaker`, `TokenBucket`, `Bulkhead`, `AdaptiveConcurrency`,
`RetryLedger`, `RetryWaits` and `RetryLayer` are of use alone; `Retrying` repeats other things than
HTTP. Every limit, window and wait runs on the event loop's clock, every random draw on the
generator that is passed in.

Three modules are not imported here: `telemetry`, which needs OpenTelemetry, `shared_state`, which
needs redis, and `testing`. pybreaker imports redis wherever that is installed, and redis the SDK of
OpenTelemetry.
"""

from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.breaker.permit import Permit
from resilience.breaker.settings import BreakerSettings, Trip
from resilience.call import Call
from resilience.calls.request import RequestOptions
from resilience.client import ResilientClient
from resilience.concurrency.adaptive import AdaptiveConcurrency, Measurement
from resilience.concurrency.adaptive_limit import GradientLimit
from resilience.concurrency.adaptive_settings import AdaptiveSettings
from resilience.concurrency.bulkhead import Bulkhead, BulkheadSettings
from resilience.errors import (
    AttemptTimeout,
    BulkheadFull,
    CircuitOpen,
    HeadersTooLarge,
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
from resilience.hedge.layer import HedgeSettings
from resilience.pipeline import Pipeline
from resilience.rate_limit.settings import RateLimit
from resilience.rate_limit.token_bucket import TokenBucket
from resilience.retry.budget import RetryBudget, RetryLedger
from resilience.retry.layer import RetryLayer
from resilience.retry.retrying import Retrying
from resilience.retry.settings import RetrySettings
from resilience.retry.wait import RetryWaits
from resilience.source import Overrides, Policies, Source
from resilience.statistics import SourceStatistics
from resilience.subscribers import Subscribers

__all__ = [
    "AdaptiveConcurrency",
    "AdaptiveSettings",
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
    "GradientLimit",
    "HeadersTooLarge",
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
