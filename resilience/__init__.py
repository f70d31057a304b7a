"""Client-side policies for calls to an unreliable source.

A `ResilientClient` sends each call through the `Pipeline` of its source. A policy is a *layer*:
a callable around the layer inside it, with settings of its own. Outermost first:

    fallback           FallbackLayer      fallback
    total_timeout_s    TotalTimeoutLayer  timeouts
    retry              RetryLayer         retry/
    hedge              HedgeLayer         hedge
                       AdmissionLayer     admission: circuit, queue, slot, token, circuit
        breaker                           breaker/
        bulkhead, or adaptive             concurrency/
        rate_limit                        rate_limit
    attempt_timeout_s  AttemptLayer       timeouts

Around them: `source` (what is called, under which policies), `request` (what a caller may say) and
`call` (one call on its way through the layers); `events` (what subscribers receive), `statistics`
(what is counted) and `errors` (what calls raise).

What this package exports is its public interface, with three modules that it does not import:
`telemetry` (needs OpenTelemetry), `shared_state` (needs redis) and `testing`. `_internal` and all
other names with a leading underscore may change at any time: `_internal.wire` is HTTP itself, and
beside it are the clock, queues and checks that the policies are made of.

`CircuitBreaker`, `TokenBucket`, `Bulkhead`, `AdaptiveConcurrency`, `RetryLedger`, `RetryWaits` and
`RetryLayer` can be used alone; `Retrying` repeats calls other than HTTP. Every limit, window and
wait runs on the event loop's clock, and every random draw comes from the generator passed in.
"""

from resilience.breaker.circuit_breaker import CircuitBreaker, Permit
from resilience.breaker.settings import BreakerSettings, Trip
from resilience.call import Call
from resilience.client import ResilientClient
from resilience.concurrency.adaptive import AdaptiveConcurrency, Measurement
from resilience.concurrency.bulkhead import Bulkhead, BulkheadSettings
from resilience.concurrency.gradient_limit import AdaptiveSettings, GradientLimit
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
    Subscribers,
)
from resilience.fallback import Fallback
from resilience.hedge import HedgeSettings
from resilience.pipeline import Pipeline
from resilience.rate_limit import RateLimit, TokenBucket
from resilience.request import RequestOptions
from resilience.retry.budget import RetryBudget, RetryLedger
from resilience.retry.layer import RetryLayer, RetryWaits
from resilience.retry.retrying import Retrying
from resilience.retry.settings import RetrySettings
from resilience.source import Overrides, Policies, Source
from resilience.statistics import SourceStatistics

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
