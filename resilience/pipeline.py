"""The policies of one source, put around its calls."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from random import Random

import httpx

from resilience.admission import AdmissionLayer
from resilience.attempt import AttemptLayer
from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.call import Call, Keep, Layer, Send
from resilience.checks.kinds import expect
from resilience.concurrency.adaptive import AdaptiveConcurrency
from resilience.concurrency.bulkhead import Bulkhead
from resilience.events import CallEnded, CallStarted
from resilience.fallback import FallbackLayer
from resilience.hedge.layer import HedgeLayer
from resilience.hedge.recent_latencies import RecentLatencies
from resilience.outcome import is_transient_status
from resilience.rate_limit.token_bucket import TokenBucket
from resilience.retry.budget import RetryBudget, RetryLedger, UnretriedLayer
from resilience.retry.layer import RetryLayer
from resilience.retry.retry_after import utc_now
from resilience.retry.wait import RetryWaits
from resilience.source import Overrides, Policies, overridden
from resilience.statistics import Counts, SourceStatistics
from resilience.subscribers import Subscribers
from resilience.timing.clock import loop_time_s
from resilience.total_timeout import TotalTimeoutLayer

_MAX_VARIANTS = 64  # callers that compute a time-out anew each time would fill memory


class Pipeline:
    """Runs calls through the layers that its policies ask for; `Policies` says in which order.

    Attributes:
        breaker: The circuit breaker; None if the policies have none.
        bulkhead: The slots; None if the policies limit no concurrency.
        adaptive: What sets their number; None if it is fixed.
        bucket: The token bucket; None if the policies have no rate limit.
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
        request_ids: Iterator[int] | None = None,
    ) -> None:
        expect("policies", policies, Policies, "make it Policies(...)")
        self._policies = policies
        self._source = source
        self._random = random
        self._told = subscribers if subscribers is not None else Subscribers()
        self._wall_clock = wall_clock
        self._request_ids = request_ids if request_ids is not None else count(1)
        self._counts = Counts()
        self.breaker: CircuitBreaker | None = None
        if policies.breaker is not None:
            self.breaker = CircuitBreaker(policies.breaker, name=source, subscribers=self._told)
        self.bulkhead: Bulkhead | None = None
        if policies.bulkhead is not None:
            self.bulkhead = Bulkhead(policies.bulkhead, name=source)
        self.adaptive: AdaptiveConcurrency | None = None
        if policies.adaptive is not None:
            self.adaptive = AdaptiveConcurrency(
                policies.adaptive, name=source, subscribers=self._told
            )
            self.bulkhead = self.adaptive.slots
        self.bucket: TokenBucket | None = None
        if policies.rate_limit is not None:
            self.bucket = TokenBucket(policies.rate_limit, name=source)
        self._ledgers: dict[RetryBudget, RetryLedger] = {}
        self._waits = RetryWaits(self.breaker)
        self._latencies: RecentLatencies | None = None
        if policies.hedge is not None:
            self._latencies = RecentLatencies(policies.hedge.percentile)
        layers = list(self._layers(policies))
        self._outermost = layers[-1]
        self.layers = tuple(type(layer).__name__ for layer in reversed(layers))
        self._variants: dict[Policies, Layer] = {}

    async def run(
        self,
        send: Send,
        *,
        method: str = "GET",
        idempotency_key: bool = False,
        overrides: Overrides | None = None,
        keep: Keep | None = None,
        request: httpx.Request | None = None,
    ) -> httpx.Response:
        """Return the response, whatever its status.

        A transient status (5xx, 408, 429) is returned when the retries have not cured it.

        Args:
            send: Sends the request once and returns the response with its body read; called once
                an attempt.
            method: HTTP method, upper case.
            idempotency_key: Whether the request bears a key by which the server knows a
                repetition.
            overrides: Policies that are replaced in this call.
            keep: Takes what ends the use of a slot, for a response whose body is still to be read;
                None if it has been read when `send` returns.
            request: What `send` sends, for a fallback to look at.

        Raises:
            ValueError: A replaced policy does not fit the others; nothing was sent.
            AttemptTimeout: The last attempt took too long.
            TotalTimeout: The call took too long.
            CircuitOpen, RateLimited, BulkheadFull: Nothing was sent, or not again.
            httpx.TransportError: The network failed in the last attempt.
        """
        outermost = self._variant(overrides) if overrides else self._outermost
        counts = self._counts
        counts.requests += 1
        call = Call(
            method,
            send,
            source=self._source,
            request_id=next(self._request_ids),
            idempotency_key=idempotency_key,
            keep=keep,
            request=request,
        )
        if self._told.listen:
            self._told.tell_of(call, CallStarted, method=method, request=request)
        try:
            response = await outermost(call)
        except BaseException as error:
            counts.finished_at_s = loop_time_s()
            counts.failed += 1
            counts.cancelled += isinstance(error, asyncio.CancelledError)
            self._told.tell_of(call, CallEnded, outcome=error)
            raise
        counts.finished_at_s = loop_time_s()
        if is_transient_status(response.status_code):
            counts.failed += 1
        else:
            counts.ok += 1
        if self._told.listen:
            self._told.tell_of(call, CallEnded, outcome=response.status_code)
        return response

    def statistics(self) -> SourceStatistics:
        """Return what became of the calls so far."""
        breaker = self.breaker
        return self._counts.snapshot(
            self._source,
            circuit=None if breaker is None else breaker.state,
            circuit_opened=0 if breaker is None else breaker.times_opened,
        )

    def _variant(self, overrides: Overrides) -> Layer:
        """Return the outermost of the layers with these policies, around the same shared state."""
        policies = overridden(self._policies, overrides)
        if policies not in self._variants:
            if len(self._variants) >= _MAX_VARIANTS:
                self._variants.clear()
            *_, self._variants[policies] = self._layers(policies)
        return self._variants[policies]

    def _layers(self, policies: Policies) -> Iterator[Layer]:
        """Yield the layers that the policies ask for, innermost first, each around the last."""
        told, counts = self._told, self._counts
        layer: Layer = AttemptLayer(policies.attempt_timeout_s, subscribers=told, counts=counts)
        yield layer
        if self.breaker or self.bulkhead or self.bucket:
            yield (layer := self._admission(layer))
        if policies.hedge is not None:
            yield (
                layer := HedgeLayer(
                    policies.hedge,
                    layer,
                    subscribers=told,
                    counts=counts,
                    latencies=self._latencies,
                )
            )
        ledger = self._ledger(policies)
        if policies.retry is not None:
            layer = RetryLayer(
                policies.retry,
                layer,
                ledger=ledger,
                waits=self._waits,
                subscribers=told,
                counts=counts,
                random=self._random,
                wall_clock=self._wall_clock,
            )
            yield layer
        elif ledger is not None:
            yield (layer := UnretriedLayer(layer, ledger))
        if policies.total_timeout_s is not None:
            layer = TotalTimeoutLayer(policies.total_timeout_s, layer, subscribers=told)
            yield layer
        if policies.fallback is not None:
            yield FallbackLayer(policies.fallback, layer, subscribers=told)

    def _ledger(self, policies: Policies) -> RetryLedger | None:
        """Return the ledger of the source's budget, or else of that of a call's own retry.

        Calls share it whatever else they override.
        """
        for retry in (self._policies.retry, policies.retry):
            if retry is not None and retry.budget is not None:
                if retry.budget not in self._ledgers:
                    if len(self._ledgers) >= _MAX_VARIANTS:
                        self._ledgers.clear()
                    self._ledgers[retry.budget] = RetryLedger(retry.budget)
                return self._ledgers[retry.budget]
        return None

    def _admission(self, inner: Layer) -> AdmissionLayer:
        own = self._policies  # an impatient call's time-out is nothing against the source
        rules = own.breaker
        return AdmissionLayer(
            inner,
            breaker=self.breaker,
            bulkhead=self.bulkhead,
            adaptive=self.adaptive,
            bucket=self.bucket,
            counts_429=rules is not None and rules.counts_429,
            attempt_limit_s=own.attempt_timeout_s or own.total_timeout_s,
            subscribers=self._told,
            counts=self._counts,
            wall_clock=self._wall_clock,
        )
