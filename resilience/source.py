"""A source of data over HTTP, and the policies that guard calls to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

import httpx

from resilience.adaptive_limit import AdaptiveSettings
from resilience.breaker_settings import BreakerSettings
from resilience.bulkhead import BulkheadSettings
from resilience.fallback import Fallback
from resilience.hedging import HedgeSettings
from resilience.ranges import DAY_S, outside, refuse
from resilience.rate_limit import RateLimit
from resilience.retry_settings import RetrySettings

_SHORTEST_TIMEOUT_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """What guards a call, outermost first; None leaves a policy out, `Policies()` all of them.

    Attributes:
        fallback: Answers when the call has failed.
        total_timeout_s: Limit on the whole call in seconds, retries and waits included,
            10 ms..24 h.
        retry: Repeats attempts that failed transiently.
        hedge: Sends a second attempt beside one that is slow.
        bulkhead: Limits how many attempts run at once.
        adaptive: Limits it too, by a number that follows the source; instead of `bulkhead`.
        rate_limit: Limits how many attempts are sent a second, and heeds a 429.
        breaker: Rejects attempts while the source is sick.
        attempt_timeout_s: Limit on each attempt, headers and body, in seconds, 10 ms..24 h; at
            most `total_timeout_s` and half of the breaker's `sampling_s`.

    Without a time-out a silent source holds its caller for ever.

    Raises:
        ValueError: A value is out of range, or two do not fit each other.
    """

    fallback: Fallback | None = None
    total_timeout_s: float | None = None
    retry: RetrySettings | None = None
    hedge: HedgeSettings | None = None
    bulkhead: BulkheadSettings | None = None
    adaptive: AdaptiveSettings | None = None
    rate_limit: RateLimit | None = None
    breaker: BreakerSettings | None = None
    attempt_timeout_s: float | None = None

    def __post_init__(self) -> None:
        total_s, attempt_s = self.total_timeout_s, self.attempt_timeout_s
        too_long = total_s is not None and attempt_s is not None and attempt_s > total_s
        refuse(
            outside("total_timeout_s", total_s, _SHORTEST_TIMEOUT_S, DAY_S, "it is in seconds"),
            outside("attempt_timeout_s", attempt_s, _SHORTEST_TIMEOUT_S, DAY_S, "it is in seconds"),
            f"attempt_timeout_s must be at most total_timeout_s ({total_s:g}), got {attempt_s:g}; "
            "lower the one or raise the other"
            if too_long
            else None,
            "bulkhead and adaptive both limit concurrency; leave one of them out"
            if self.bulkhead is not None and self.adaptive is not None
            else None,
            self._complaint_about_sampling(),
        )

    def _complaint_about_sampling(self) -> str | None:
        if self.breaker is None or self.attempt_timeout_s is None:
            return None
        if self.breaker.sampling_s >= 2 * self.attempt_timeout_s:
            return None
        return (
            f"sampling_s must be at least twice attempt_timeout_s ({self.attempt_timeout_s:g}), "
            f"got {self.breaker.sampling_s:g}; a shorter window forgets calls as they end"
        )


class Overrides(TypedDict, total=False):
    """Policies of the source that one call replaces; None leaves the policy out of this call.

    Only what belongs to a single call may be replaced. The breaker, rate limit and concurrency
    limit are shared by all calls to the source, and so are their settings; a source's retry budget
    rules over replaced retries too. A shorter total time-out shortens that of the attempts with
    it; otherwise the numbers must fit the policies that stay.
    """

    total_timeout_s: float | None
    attempt_timeout_s: float | None
    retry: RetrySettings | None


def overridden(policies: Policies, overrides: Overrides) -> Policies:
    """Return the policies of a call that replaces some of its source's.

    Raises:
        ValueError: A value is out of range, or does not fit the others.
    """
    total_s, attempt_s = overrides.get("total_timeout_s"), policies.attempt_timeout_s
    if total_s is not None and attempt_s is not None and total_s < attempt_s:
        overrides = {"attempt_timeout_s": total_s, **overrides}
    return replace(policies, **overrides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An HTTP API that calls go to.

    Attributes:
        name: What calls, errors and events name it by.
        base_url: Where it is, with scheme and host; paths of calls are appended.
        headers: Sent with every request.
        policies: What guards the calls.

    Raises:
        ValueError: The name is empty or the URL is no absolute http(s) one.
    """

    name: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    policies: Policies = field(default_factory=Policies)

    def __post_init__(self) -> None:
        refuse(
            None if self.name else "name must not be empty; calls and events go by it",
            None
            if _is_absolute(self.base_url)
            else f"base_url must be an absolute http(s) URL, got {self.base_url!r}; "
            "write it like http://127.0.0.1:5401",
        )


def _is_absolute(base_url: str) -> bool:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return False
    return url.scheme in {"http", "https"} and bool(url.host) and not url.query and not url.fragment
