"""What all calls to one source share, whatever policies they replace."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.concurrency.adaptive import AdaptiveConcurrency
from resilience.concurrency.bulkhead import Bulkhead
from resilience.events import Subscribers
from resilience.hedge import RecentLatencies
from resilience.rate_limit import TokenBucket
from resilience.retry.budget import RetryBudget, RetryLedger
from resilience.retry.layer import RetryWaits
from resilience.retry.settings import RetrySettings
from resilience.source import Policies

Settings = TypeVar("Settings")
Guard = TypeVar("Guard")

_MAX_LEDGERS = 64  # callers that compute a new budget each time would fill memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """The state of a source's policies; what the policies leave out is None.

    Attributes:
        policies: The source's own.
        breaker: The circuit breaker. When it opens, it rejects all calls that wait for a slot, a
            token or a retry.
        bulkhead: The slots.
        adaptive: What sets their number.
        bucket: The tokens of the rate limit.
        latencies: Those that hedging learns its delay from.
        waits: Where calls sleep before their retries.
        ledgers: Of retry budgets.
    """

    policies: Policies
    breaker: CircuitBreaker | None
    bulkhead: Bulkhead | None
    adaptive: AdaptiveConcurrency | None
    bucket: TokenBucket | None
    latencies: RecentLatencies | None
    waits: RetryWaits = field(init=False)
    ledgers: dict[RetryBudget, RetryLedger] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "waits", RetryWaits(self.breaker))
        if self.breaker is not None:
            for queue in (self.bulkhead, self.bucket):
                if queue is not None:
                    self.breaker.when_opened(queue.refuse_all)

    @property
    def admits_all(self) -> bool:
        """Tell whether no guard could hold an attempt back."""
        return self.breaker is None and self.bulkhead is None and self.bucket is None

    def ledger_of(self, retry: RetrySettings | None) -> RetryLedger | None:
        """Return the ledger of the source's budget, or else of that of a call's own retry.

        Calls share it whatever else they override.
        """
        for settings in (self.policies.retry, retry):
            if settings is not None and settings.budget is not None:
                return self._ledger(settings.budget)
        return None

    def shift_times(self, by_s: float) -> None:
        """Shift every remembered time by `by_s` seconds, as the clock has shifted."""
        for guard in (self.breaker, self.adaptive, self.bucket, *self.ledgers.values()):
            if guard is not None:
                guard.shift_times(by_s)

    def _ledger(self, budget: RetryBudget) -> RetryLedger:
        if budget not in self.ledgers:
            if len(self.ledgers) >= _MAX_LEDGERS:
                self.ledgers.clear()
            self.ledgers[budget] = RetryLedger(budget)
        return self.ledgers[budget]


def guards_of(policies: Policies, *, source: str, subscribers: Subscribers) -> Guards:
    """Return the guards that a source's policies ask for, as they are before the first call."""
    breaker = _of(policies.breaker, partial(CircuitBreaker, name=source, subscribers=subscribers))
    adaptive = _of(
        policies.adaptive, partial(AdaptiveConcurrency, name=source, subscribers=subscribers)
    )
    bulkhead = _of(policies.bulkhead, partial(Bulkhead, name=source))
    return Guards(
        policies=policies,
        breaker=breaker,
        bulkhead=bulkhead if adaptive is None else adaptive.slots,
        adaptive=adaptive,
        bucket=_of(policies.rate_limit, partial(TokenBucket, name=source)),
        latencies=_of(policies.hedge, lambda hedge: RecentLatencies(hedge.percentile)),
    )


def _of(settings: Settings | None, build: Callable[[Settings], Guard]) -> Guard | None:
    return None if settings is None else build(settings)
