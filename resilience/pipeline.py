"""The pipeline of one source: its layers in their order, and the calls that pass them."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from random import Random

import httpx

from resilience._internal.backoff import seeded_anew_in_forks
from resilience._internal.checks import expect
from resilience._internal.guards import Guards, guards_of
from resilience._internal.outcome import is_transient_status
from resilience._internal.timing import loop_time_s
from resilience._internal.wire.retry_after import utc_now
from resilience.admission import AdmissionLayer
from resilience.call import Call, Keep, Layer, Send
from resilience.events import CallEnded, CallStarted, Subscribers
from resilience.fallback import FallbackLayer
from resilience.hedge import HedgeLayer
from resilience.retry.budget import UnretriedLayer
from resilience.retry.layer import RetryLayer
from resilience.source import Overrides, Policies, overridden
from resilience.statistics import Counts, SourceStatistics
from resilience.timeouts import AttemptLayer, TotalTimeoutLayer

_MAX_VARIANTS = 64  # callers that compute a new timeout each time would fill memory


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
        self._subscribers = subscribers if subscribers is not None else Subscribers()
        self._request_ids = request_ids if request_ids is not None else count(1)
        self._counts = Counts()
        self._guards = guards = guards_of(policies, source=source, subscribers=self._subscribers)
        self.breaker, self.bulkhead = guards.breaker, guards.bulkhead
        self.adaptive, self.bucket = guards.adaptive, guards.bucket
        self._layers = Layers(
            guards=guards,
            random=seeded_anew_in_forks(random),  # a call may be the first that retries
            subscribers=self._subscribers,
            counts=self._counts,
            wall_clock=wall_clock,
        )
        *_, self._outermost = layers = self._layers.of(policies)
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

        A transient status (5xx, 408, 429) is returned when it remains after the retries.

        Args:
            send: Sends the request once and returns the response with its body read; called once
                per attempt.
            method: HTTP method, upper case.
            idempotency_key: Whether the request has a key by which the server recognises a
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
        call = Call(method, send, source=self._source, request_id=next(self._request_ids))
        call.idempotency_key, call.keep, call.request = idempotency_key, keep, request
        if self._subscribers.listen:
            self._subscribers.notify_of(call, CallStarted, method=method, request=request)
        try:
            response = await outermost(call)
        except BaseException as error:
            self._raised(call, error)
            raise
        counts.finished_at_s = loop_time_s()
        if is_transient_status(response.status_code):
            counts.failed += 1
        else:
            counts.ok += 1
        if self._subscribers.listen:
            self._subscribers.notify_of(call, CallEnded, outcome=response.status_code)
        return response

    def statistics(self) -> SourceStatistics:
        """Return the counts of the calls so far."""
        breaker = self.breaker
        return self._counts.snapshot(
            self._source,
            circuit=None if breaker is None else breaker.state,
            circuit_opened=0 if breaker is None else breaker.times_opened,
        )

    def shift_times(self, by_s: float) -> None:
        """Shift every time that the policies remember by `by_s` seconds, as the clock did."""
        self._guards.shift_times(by_s)

    def _raised(self, call: Call, error: BaseException) -> None:
        counts = self._counts
        counts.finished_at_s = loop_time_s()
        counts.failed += 1
        counts.cancelled += isinstance(error, asyncio.CancelledError)
        self._subscribers.notify_of(call, CallEnded, outcome=error)

    def _variant(self, overrides: Overrides) -> Layer:
        """Return the outermost of the layers with these policies, around the same shared state."""
        policies = overridden(self._policies, overrides)
        if policies not in self._variants:
            if len(self._variants) >= _MAX_VARIANTS:
                self._variants.clear()
            *_, self._variants[policies] = self._layers.of(policies)
        return self._variants[policies]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Builds layers that share the guards of one source."""

    guards: Guards
    random: Random
    subscribers: Subscribers
    counts: Counts
    wall_clock: Callable[[], datetime]

    def of(self, policies: Policies) -> list[Layer]:
        """Return the layers that the policies ask for, innermost first, each around the last."""
        limit_s = policies.attempt_timeout_s
        layers: list[Layer] = [
            AttemptLayer(limit_s, subscribers=self.subscribers, counts=self.counts)
        ]
        for around in (
            self._admission,
            self._hedge,
            self._retry,
            self._total_timeout,
            self._fallback,
        ):
            layer = around(layers[-1], policies)
            if layer is not None:
                layers.append(layer)
        return layers

    def _admission(self, inner: Layer, _policies: Policies) -> Layer | None:
        if self.guards.admits_all:
            return None
        return AdmissionLayer(
            inner,
            self.guards,
            subscribers=self.subscribers,
            counts=self.counts,
            wall_clock=self.wall_clock,
        )

    def _hedge(self, inner: Layer, policies: Policies) -> Layer | None:
        if policies.hedge is None:
            return None
        return HedgeLayer(
            policies.hedge,
            inner,
            subscribers=self.subscribers,
            counts=self.counts,
            latencies=self.guards.latencies,
        )

    def _retry(self, inner: Layer, policies: Policies) -> Layer | None:
        ledger = self.guards.ledger_of(policies.retry)
        if policies.retry is None:
            return None if ledger is None else UnretriedLayer(inner, ledger)
        return RetryLayer(
            policies.retry,
            inner,
            ledger=ledger,
            waits=self.guards.waits,
            subscribers=self.subscribers,
            counts=self.counts,
            random=self.random,
            wall_clock=self.wall_clock,
        )

    def _total_timeout(self, inner: Layer, policies: Policies) -> Layer | None:
        if policies.total_timeout_s is None:
            return None
        return TotalTimeoutLayer(policies.total_timeout_s, inner, subscribers=self.subscribers)

    def _fallback(self, inner: Layer, policies: Policies) -> Layer | None:
        if policies.fallback is None:
            return None
        return FallbackLayer(policies.fallback, inner, subscribers=self.subscribers)
