"""How often and when a call is tried again, and what follows each transient failure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from resilience._internal.backoff import BACKOFFS, Backoff, delays_s
from resilience._internal.checks import DAY_S, expect, expect_several, expect_whole, outside, refuse
from resilience._internal.outcome import NEVER_SENT_ERRORS, is_transient_status
from resilience.call import IDEMPOTENT_METHODS, SAFE_METHODS
from resilience.errors import Cause
from resilience.events import GaveUpReason
from resilience.retry.budget import RetryBudget

Repeatable = Literal["any", "idempotent", "safe"]
REPEATABLES: tuple[Repeatable, ...] = get_args(Repeatable)
_NO_RETRIES = "use retry=None for no retries"
_REFUSALS = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """Another attempt after a transient failure; the ranges include their ends.

    The first six defaults are those of Microsoft.Extensions.Http.Resilience, which is Polly for
    HTTP. They suit a call without haste: the three computed waits add up to 8 s on average and
    11.4 s at most. Where a person waits for the response, 2 retries from 50 to 200 ms are usual.

    Attributes:
        max_retries: Attempts after the first, >= 1; leave the policy out for none. 3, because
            where 30 % of the requests fail, four attempts leave 0.8 %: more would cure little, and
            a source that is down is left to the breaker.
        base_delay_s: Base of the delays in seconds, 0..24 h; see `backoff.delays_s`. 2 s, because
            an overload or a restart lasts for seconds, and retries within it only add to the load.
        backoff: How the delays grow: "constant", "linear" or "exponential", the default: the
            longer a source has failed, the less often it is called.
        jitter: Whether the delays are spread at random; by default they are, so that callers that
            failed together do not retry together.
        max_delay_s: Longest computed delay in seconds, 0..24 h; None, the default, for no limit
            but a day, since three retries need none: the third waits for 8.7 s at the longest.
            Set it with more of them: the tenth waits for nine minutes on average.
        honour_retry_after: Whether the Retry-After of a reply that is retried replaces the computed
            delay; by default it does, since the server knows better. Seconds may have decimals, a
            date counts from the reply's own Date. One of 0, or a date in the past, asks for no wait
            and leaves the computed delay as it is: without one, a failing source would be called in
            a tight loop.
        max_retry_after_s: Longest Retry-After that is waited for in seconds, 0..24 h; with a
            longer one the call gives up at once, so that a server cannot hold its caller. 60 s
            is the longest that a limit per minute asks for.
        repeatable: Which requests are repeated. "idempotent", the default: those of idempotent
            methods (GET, HEAD, OPTIONS, TRACE, QUERY, PUT, DELETE) after every transient failure;
            others only if they have an Idempotency-Key, were never sent (no connection), or were
            refused by one of the statuses below, because otherwise an order could be placed twice.
            "safe": those of the first five of these methods alone, key or none. "any": every
            method after every transient failure.
        repeat_non_idempotent_on: The statuses after which a request that is not idempotent is
            sent again, among 408, 429 and 5xx; `{429}` for that one alone, `()` for none. By
            default 429 and 503, which mean that the server has not acted. A proxy in front of it
            may send 503 too when it lost the server *after* that acted: behind one, leave 503
            out. Has an effect only while `repeatable` is "idempotent".
        budget: Bounds the share of retries among the source's requests, those that may not be
            retried included; None, the default, for no bound: only you know which share a
            source can bear. A budget that is given for single calls bounds the retries of these
            calls together.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    max_retries: int = 3
    base_delay_s: float = 2.0
    backoff: Backoff = "exponential"
    jitter: bool = True
    max_delay_s: float | None = None
    honour_retry_after: bool = True
    max_retry_after_s: float = 60.0
    repeatable: Repeatable = "idempotent"
    repeat_non_idempotent_on: Collection[int] = _REFUSALS
    budget: RetryBudget | None = None

    def __post_init__(self) -> None:
        expect("jitter", self.jitter, bool, "write True or False")
        expect("honour_retry_after", self.honour_retry_after, bool, "write True or False")
        expect("budget", self.budget, RetryBudget | None, "make it a RetryBudget, or None for none")
        refuse(
            outside("max_retries", self.max_retries, 1, 1_000_000, _NO_RETRIES, whole=True),
            outside("base_delay_s", self.base_delay_s, 0, DAY_S, "it is in seconds"),
            outside("max_delay_s", self.max_delay_s, 0, DAY_S, "it is in seconds", optional=True),
            outside("max_retry_after_s", self.max_retry_after_s, 0, DAY_S, "it is in seconds"),
            _not_among("backoff", self.backoff, BACKOFFS, "exponential suits most sources"),
            _not_among("repeatable", self.repeatable, REPEATABLES, "idempotent is sound"),
            self._complaint_about_statuses(),
        )
        object.__setattr__(
            self, "repeat_non_idempotent_on", frozenset(self.repeat_non_idempotent_on)
        )

    def _complaint_about_statuses(self) -> str | None:
        name, statuses = "repeat_non_idempotent_on", self.repeat_non_idempotent_on
        next_step = "write {429}, or () for none"
        expect_several(name, statuses, next_step)
        for status in statuses:
            expect_whole(f"a status of {name}", status, next_step)
        never = sorted(status for status in statuses if not is_transient_status(status))
        if never:
            return f"{name} may hold 408, 429 and 5xx, got {never[0]}, which is never retried"
        if self.repeatable != "idempotent" and set(statuses) != _REFUSALS:
            return f"{name} has no effect with repeatable={self.repeatable!r}; leave one out"
        return None

    def delays_s(self, random: Random) -> Iterator[float]:
        """Yield the computed delays before the retries of one call, in seconds, without end."""
        return delays_s(
            self.backoff,
            self.base_delay_s,
            jitter=self.jitter,
            max_s=self.max_delay_s,
            random=random,
        )


def _not_among(name: str, value: object, known: tuple[str, ...], next_step: str) -> str | None:
    if value in known:
        return None
    return f"{name} must be one of {', '.join(known)}, got {value!r}; {next_step}"


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
    """Decide what follows a transient failure: the seconds to wait, or the reason to give up.

    Args:
        settings: The policy's.
        repeatable: Whether `may_repeat` says so.
        failed_attempts: Attempts so far, >= 1.
        computed_delay_s: What the back-off says.
        asked_delay_s: What the server's Retry-After says; it replaces the computed delay. None or
            0 asks for nothing.
        time_left_s: Until the total timeout; infinite without one. A wait that would reach it
            is not begun: the caller gets this failure now rather than a timeout later.
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
