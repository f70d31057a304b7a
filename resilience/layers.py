"""The layers around a call, each for one policy."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from resilience.admission import AdmissionLayer
from resilience.attempt import AttemptLayer
from resilience.call import Layer
from resilience.fallback import FallbackLayer
from resilience.guards import Guards
from resilience.hedge.layer import HedgeLayer
from resilience.retry.budget import UnretriedLayer
from resilience.retry.layer import RetryLayer
from resilience.source import Policies
from resilience.statistics import Counts
from resilience.subscribers import Subscribers
from resilience.total_timeout import TotalTimeoutLayer


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
