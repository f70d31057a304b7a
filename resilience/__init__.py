"""Client-side policies for calls to an unreliable source.

A `ResilientClient` sends each call through the `Pipeline` of its source. A policy is a *layer*:
a callable around the layer inside it, with settings of its own. Outermost first:

    fallback        FallbackLayer
    total_timeout   TotalTimeoutLayer
    retry           RetryLayer        retry_settings, backoff, retry_after
    hedge           HedgeLayer        hedge_race, recent_latencies
    breaker         BreakerLayer      breaker_settings, circuit_breaker, window
    attempt         AttemptLayer
    transport       the wire

`outcome` says what is transient, `events` what subscribers hear, `errors` what calls raise.
Every limit, window and wait runs on the event loop's clock, every random draw on the generator
that is passed in.
"""

from resilience.breaker_settings import BreakerSettings, Trip
from resilience.circuit_breaker import CircuitBreaker, Permit
from resilience.client import ResilientClient
from resilience.errors import (
    AttemptTimeout,
    CircuitOpen,
    OpenedElsewhere,
    ResilienceError,
    ResponseTooLarge,
    StaleConnection,
    TotalTimeout,
)
from resilience.events import (
    AttemptCancelled,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CallRejected,
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
    RetryScheduled,
)
from resilience.fallback import Fallback
from resilience.hedging import HedgeSettings
from resilience.pipeline import Pipeline
from resilience.retry_settings import RetrySettings
from resilience.source import Policies, Source
from resilience.subscribers import Subscribers

__all__ = [
    "AttemptCancelled",
    "AttemptFailed",
    "AttemptStarted",
    "AttemptSucceeded",
    "AttemptTimeout",
    "BreakerSettings",
    "CallRejected",
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
    "OpenedElsewhere",
    "Permit",
    "Pipeline",
    "Policies",
    "ResilienceError",
    "ResilientClient",
    "ResponseTooLarge",
    "RetryScheduled",
    "RetrySettings",
    "Source",
    "StaleConnection",
    "Subscribers",
    "TotalTimeout",
    "Trip",
]
