"""How often and when a call is tried again."""

from dataclasses import dataclass
from typing import Literal, get_args

from resilience.backoff import BACKOFFS, Backoff
from resilience.kinds import expect
from resilience.ranges import DAY_S, outside, refuse
from resilience.retry_budget import RetryBudget

Repeatable = Literal["any", "idempotent", "safe"]
REPEATABLES: tuple[Repeatable, ...] = get_args(Repeatable)
_NO_RETRIES = "use retry=None for no retries"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """Another attempt after a transient failure; the ranges include their ends.

    Attributes:
        max_retries: Attempts after the first, >= 1; leave the policy out for none.
        base_delay_s: Base of the delays in seconds, 0..24 h; see `backoff.delays_s`.
        backoff: How the delays grow: "constant", "linear" or "exponential".
        jitter: Whether the delays are spread at random.
        max_delay_s: Longest computed delay in seconds, 0..24 h; None for no limit but a day.
        honour_retry_after: Whether the Retry-After of a 429 or 503 replaces the computed delay.
            One of 0, or a date in the past, asks for no wait and leaves the computed delay as it
            is: without one, a source that fails would be asked again in a tight loop.
        max_retry_after_s: Longest Retry-After that is waited for in seconds, 0..24 h; with a
            longer one the call gives up at once, so that a server cannot hold its caller.
        repeatable: Which requests are repeated. "idempotent", the default: GET, HEAD, OPTIONS,
            TRACE, PUT and DELETE after every transient failure, others only if they bear an
            Idempotency-Key or the server cannot have acted (429, 503, no connection), because
            otherwise an order may be placed twice. "safe": never POST, PATCH, PUT, DELETE or
            CONNECT. "any": every method after every transient failure.
        budget: Bounds the share of retries among the source's requests; None for no bound.

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
        )


def _not_among(name: str, value: object, known: tuple[str, ...], next_step: str) -> str | None:
    if value in known:
        return None
    return f"{name} must be one of {', '.join(known)}, got {value!r}; {next_step}"
