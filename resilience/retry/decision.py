"""What follows a transient failure: another attempt, and when, or giving up."""

from resilience.call import IDEMPOTENT_METHODS, SAFE_METHODS
from resilience.errors import Cause
from resilience.events import GaveUpReason
from resilience.outcome import NEVER_SENT_ERRORS
from resilience.retry.settings import RetrySettings


def may_repeat(
    settings: RetrySettings, method: str, *, idempotency_key: bool, cause: Cause
) -> bool:
    """Tell whether the request that ended in `cause` may be sent again.

    Source: RFC 9110 9.2.2 on idempotent methods; see `RetrySettings.repeatable` for the rules.
    """
    if settings.repeatable == "any":
        return True
    if settings.repeatable == "safe":
        return method in SAFE_METHODS
    if method in IDEMPOTENT_METHODS or idempotency_key:
        return True
    if isinstance(cause, int):
        return cause in settings.repeat_non_idempotent_on
    return isinstance(cause, NEVER_SENT_ERRORS)


def next_step(
    *,
    settings: RetrySettings,
    repeatable: bool,
    failed_attempts: int,
    computed_delay_s: float,
    asked_delay_s: float | None,
    time_left_s: float,
) -> float | GaveUpReason:
    """Decide what follows a transient failure: seconds to wait, or why to give up.

    Args:
        settings: The policy's.
        repeatable: Whether `may_repeat` says so.
        failed_attempts: Attempts so far, >= 1.
        computed_delay_s: What the back-off says.
        asked_delay_s: What the server's Retry-After says; it replaces the computed delay. None or
            0 asks for nothing.
        time_left_s: Until the total time-out; infinite without one. A wait that would reach it
            is not begun: the caller gets the failure in hand now rather than a time-out later.
    """
    if failed_attempts > settings.max_retries:
        return GaveUpReason.RETRIES_EXHAUSTED
    if not repeatable:
        return GaveUpReason.UNSAFE_METHOD
    if not asked_delay_s:
        return computed_delay_s if computed_delay_s < time_left_s else GaveUpReason.NO_TIME_LEFT
    if asked_delay_s > settings.max_retry_after_s or asked_delay_s >= time_left_s:
        return GaveUpReason.RETRY_AFTER_TOO_LONG
    return asked_delay_s
