from front.settings import HEALTH, RATES, RAW
from front.stats import Stats
from resilience import (
    AttemptFailed,
    AttemptStarted,
    AttemptTimeout,
    CallRejected,
    Event,
    GaveUp,
    GaveUpReason,
    RetryScheduled,
    TotalTimeout,
)

HAPPENED: list[Event] = [
    AttemptStarted(source=RATES, at_s=0, attempt=1),
    AttemptFailed(source=RATES, at_s=0, attempt=1, cause=AttemptTimeout(0.3), duration_s=0.3),
    RetryScheduled(source=RATES, at_s=0, attempt=1, cause=AttemptTimeout(0.3), delay_s=0.05),
    AttemptStarted(source=RATES, at_s=0, attempt=2),
    AttemptFailed(source=RATES, at_s=0, attempt=2, cause=500, duration_s=0.1),
    GaveUp(
        source=RATES,
        at_s=0,
        attempt=2,
        cause=TotalTimeout(1),
        reason=GaveUpReason.TOTAL_TIMEOUT,
    ),
    CallRejected(source=RATES, at_s=0, attempt=1, retry_after_s=5),
    GaveUp(source=RATES, at_s=0, attempt=3, cause=500, reason=GaveUpReason.RETRIES_EXHAUSTED),
    AttemptStarted(source=RAW, at_s=0, attempt=1),
    AttemptStarted(source=HEALTH, at_s=0, attempt=1),
]


def test_events_are_counted_by_what_they_tell() -> None:
    stats = Stats()
    for event in HAPPENED:
        stats.on_event(event)

    assert stats.as_wire("open") == {
        "breaker": "open",
        "attempts": 3,
        "attemptsResilient": 2,
        "attemptsRaw": 1,
        "retries": 1,
        "rejections": 1,
        "attemptTimeouts": 1,
        "totalTimeouts": 1,
        "fresh": 0,
        "stale": 0,
        "errors": 0,
        "unknown": 0,
    }
