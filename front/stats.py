"""Counts of what happened, for `/stats`."""

from dataclasses import dataclass, field

from front.settings import RATES, RAW
from resilience import (
    AttemptFailed,
    AttemptStarted,
    AttemptTimeout,
    CallRejected,
    Event,
    GaveUp,
    GaveUpReason,
    RetryScheduled,
)

COUNTED = (AttemptStarted, AttemptFailed, RetryScheduled, CallRejected, GaveUp)


@dataclass(slots=True, kw_only=True)
class Stats:
    """Counts since the start; health checks are not among them."""

    fresh: int = 0  # conversions by a rate requested for them
    stale: int = 0  # conversions by the last good rate
    errors: int = 0  # 503: neither
    unknown: int = 0  # 404: rates knows no such currency
    attempts: dict[str, int] = field(default_factory=lambda: {RATES: 0, RAW: 0})  # sent, by source
    retries: int = 0
    rejections: int = 0  # calls that an open circuit refused
    attempt_timeouts: int = 0
    total_timeouts: int = 0  # of resilient and raw calls

    def on_event(self, event: Event) -> None:
        """Count *event* of a call to rates."""
        match event:
            case AttemptStarted(source=source) if source in self.attempts:
                self.attempts[source] += 1
            case AttemptFailed(cause=AttemptTimeout()):
                self.attempt_timeouts += 1
            case RetryScheduled():
                self.retries += 1
            case CallRejected():
                self.rejections += 1
            case GaveUp(reason=GaveUpReason.TOTAL_TIMEOUT):
                self.total_timeouts += 1

    def as_wire(self, breaker: str | None) -> dict[str, int | str | None]:
        """Return the members of the `/stats` reply; *breaker* is its state, None without one."""
        return {
            "breaker": breaker,
            "attempts": sum(self.attempts.values()),
            "attemptsResilient": self.attempts[RATES],
            "attemptsRaw": self.attempts[RAW],
            "retries": self.retries,
            "rejections": self.rejections,
            "attemptTimeouts": self.attempt_timeouts,
            "totalTimeouts": self.total_timeouts,
            "fresh": self.fresh,
            "stale": self.stale,
            "errors": self.errors,
            "unknown": self.unknown,
        }
