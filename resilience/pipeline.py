"""The policies of one source, put around its calls."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random

import httpx

from resilience.attempt import AttemptLayer
from resilience.breaker import BreakerLayer
from resilience.call import Call, Layer, Send
from resilience.circuit_breaker import CircuitBreaker
from resilience.fallback import FallbackLayer
from resilience.hedging import HedgeLayer
from resilience.retry import RetryLayer
from resilience.source import Policies
from resilience.subscribers import Subscribers
from resilience.total_timeout import TotalTimeoutLayer


def utc_now() -> datetime:
    """Return the time of day, which only Retry-After dates are compared with."""
    return datetime.now(UTC)


class Pipeline:
    """Runs calls through the layers that its policies ask for; `Policies` says in which order.

    Attributes:
        breaker: The circuit breaker; None if the policies have none.
        layers: The layers' classes by name, outermost first.
    """

    def __init__(
        self,
        policies: Policies,
        *,
        source: str,
        random: Random,
        subscribers: Subscribers | None = None,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        told = subscribers if subscribers is not None else Subscribers()
        self.breaker: CircuitBreaker | None = None
        if policies.breaker is not None:
            self.breaker = CircuitBreaker(policies.breaker, name=source, subscribers=told)
        layers = list(
            _layers(
                policies,
                breaker=self.breaker,
                source=source,
                told=told,
                random=random,
                wall_clock=wall_clock,
            )
        )
        self._outermost = layers[-1]
        self.layers = tuple(type(layer).__name__ for layer in reversed(layers))

    async def run(
        self, send: Send, *, method: str = "GET", request: httpx.Request | None = None
    ) -> httpx.Response:
        """Return the response, whatever its status.

        A transient status (5xx, 408, 429) is returned when the retries have not cured it.

        Args:
            send: Sends the request once and returns the response with its body read; called once
                an attempt.
            method: HTTP method, upper case.
            request: What `send` sends, for a fallback to look at.

        Raises:
            AttemptTimeout: The last attempt took too long.
            TotalTimeout: The call took too long.
            CircuitOpen: The breaker holds calls back.
            httpx.TransportError: The network failed in the last attempt.
        """
        return await self._outermost(Call(method, send, request))


def _layers(
    policies: Policies,
    *,
    breaker: CircuitBreaker | None,
    source: str,
    told: Subscribers,
    random: Random,
    wall_clock: Callable[[], datetime],
) -> Iterator[Layer]:
    """Yield the layers that the policies ask for, innermost first, each around the one before."""
    layer: Layer = AttemptLayer(policies.attempt_timeout_s, source=source, subscribers=told)
    yield layer
    if breaker is not None:
        yield (layer := BreakerLayer(breaker, layer, source=source, subscribers=told))
    if policies.hedge is not None:
        yield (layer := HedgeLayer(policies.hedge, layer, source=source, subscribers=told))
    if policies.retry is not None:
        layer = RetryLayer(
            policies.retry,
            layer,
            source=source,
            subscribers=told,
            random=random,
            wall_clock=wall_clock,
        )
        yield layer
    if policies.total_timeout_s is not None:
        layer = TotalTimeoutLayer(policies.total_timeout_s, layer, source=source, subscribers=told)
        yield layer
    if policies.fallback is not None:
        yield FallbackLayer(policies.fallback, layer, source=source, subscribers=told)
