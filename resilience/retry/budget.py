"""A limit on the share of retries among a source's requests."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from resilience._internal.checks import DAY_S, expect, outside, refuse
from resilience._internal.timing import loop_time_s
from resilience._internal.window import RollingWindow
from resilience.call import Call, Layer

_MAX_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudget:
    """Retries may be at most `ratio` of the latest requests, plus `min_per_s` per second.

    Retries multiply the load of a source when it can bear least; a budget bounds by how much,
    however many layers of callers retry.

    Attributes:
        ratio: Retries per request, 0..1; 0.2, as with Finagle, bounds the load to 1.2 times what
            callers ask for.
        min_per_s: Retries per second that are allowed whatever the ratio, 0..1,000,000, so that a
            source that is called seldom is retried at all; 1 is little load.
        window_s: How far back requests and retries are counted, in seconds, 0.5 s..24 h; 10 s, as
            with Finagle, outlast the waits between most retries.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.

    Source: the retry budgets of Finagle and of the Site Reliability Engineering book, chapter 21.
    """

    ratio: float = 0.2
    min_per_s: float = 1.0
    window_s: float = 10.0

    def __post_init__(self) -> None:
        refuse(
            outside("ratio", self.ratio, 0, 1, "0.2 allows one retry for five requests"),
            outside("min_per_s", self.min_per_s, 0, _MAX_PER_S, "1 is usual"),
            outside("window_s", self.window_s, 0.5, DAY_S, "it is in seconds"),
        )


class RetryLedger:
    """Counts requests and retries, and decides whether the budget allows one more.

    A retry is granted before its wait and counts at once; when it begins it moves into the
    sliding window, and if it is not sent it is forgotten.

    Args:
        budget: The rules.
        clock: Returns monotonic seconds; the running event loop's `time` by default.
    """

    def __init__(self, budget: RetryBudget, *, clock: Callable[[], float] = loop_time_s) -> None:
        expect("budget", budget, RetryBudget, "make it RetryBudget(...)")
        self._budget = budget
        self._clock = clock
        self._requests = RollingWindow(budget.window_s)
        self._retries = RollingWindow(budget.window_s)
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Return how many retries are granted and have not begun."""
        return self._waiting

    def on_request(self) -> None:
        """Count a call, not an attempt."""
        self._requests.record_success(self._clock())

    def grant(self) -> bool:
        """Tell whether one more retry is within the budget.

        If so, follow with `begin` or `forget`, one of them, once.
        """
        now_s = self._clock()
        requests, _ = self._requests.counts(now_s)
        begun, _ = self._retries.counts(now_s)
        budget = self._budget
        allowed = budget.ratio * requests + budget.min_per_s * budget.window_s
        if begun + self._waiting + 1 > allowed:
            return False
        self._waiting += 1
        return True

    def begin(self, *, granted: bool = True) -> None:
        """Count a retry as begun: one that was granted, or one that is sent without having been."""
        if granted:
            self._waiting -= 1
        self._retries.record_success(self._clock())

    def shift_times(self, by_s: float) -> None:
        """Shift all counts by `by_s` seconds, as the clock has shifted."""
        self._requests.shift_times(by_s)
        self._retries.shift_times(by_s)

    def forget(self) -> None:
        """Take a grant back: its retry will never begin."""
        self._waiting -= 1


class UnretriedLayer:
    """Counts the calls that are never retried among the requests that a budget is a share of."""

    def __init__(self, inner: Layer, ledger: RetryLedger) -> None:
        self._inner = inner
        self._ledger = ledger

    def __call__(self, call: Call) -> Awaitable[httpx.Response]:
        """Count the call and pass it on."""
        self._ledger.on_request()
        return self._inner(call)
