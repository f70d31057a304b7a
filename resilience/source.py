"""A source of data over HTTP, and the policies that guard calls to it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

from resilience._internal.checks import (
    TIMEOUT_LIKE,
    complaint_about_timeout,
    expect,
    expect_number,
    refuse,
)
from resilience._internal.wire.sendable import (
    check_headers,
    complaint_about_base_url,
    without_credentials,
)
from resilience.breaker.settings import BreakerSettings
from resilience.concurrency.bulkhead import BulkheadSettings
from resilience.concurrency.gradient_limit import AdaptiveSettings
from resilience.fallback import Fallback
from resilience.hedge import HedgeSettings
from resilience.rate_limit import RateLimit
from resilience.retry.settings import RetrySettings

_SETTINGS = {
    "fallback": Fallback,
    "retry": RetrySettings,
    "hedge": HedgeSettings,
    "bulkhead": BulkheadSettings,
    "adaptive": AdaptiveSettings,
    "rate_limit": RateLimit,
    "breaker": BreakerSettings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The policies of a call, outermost first; None leaves one out, `Policies()` all of them.

    Attributes:
        fallback: Answers when the call has failed.
        total_timeout_s: Limit on the whole call in seconds, retries and waits included,
            10 ms..24 h. Where it ends an attempt that has had all the time that an attempt may
            take, the breaker counts a timeout of the source.
        retry: Repeats attempts that failed transiently.
        hedge: Sends a second attempt beside one that is slow.
        bulkhead: Limits how many attempts run at once.
        adaptive: Limits it too, by a number that follows the source; instead of `bulkhead`.
        rate_limit: Limits how many attempts are sent per second, and pauses after a 429.
        breaker: Rejects attempts while the source fails.
        attempt_timeout_s: Limit on each attempt, headers and body, in seconds, 10 ms..24 h; at
            most `total_timeout_s` and half of the breaker's `sampling_s`.

    Without a timeout, a source that never responds blocks its caller for ever.

    Raises:
        ValueError: A value is out of range, or two contradict each other.
        TypeError: A value is not a number, or not the settings of its policy.
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
        for name, kind in _SETTINGS.items():
            if (value := getattr(self, name)) is not None and not isinstance(value, kind):
                expect(name, value, kind, f"make it a {kind.__name__}, or None for no such policy")
        total_s, attempt_s = self.total_timeout_s, self.attempt_timeout_s
        refuse(
            complaint_about_timeout("total_timeout_s", total_s),
            complaint_about_timeout("attempt_timeout_s", attempt_s),
        )
        too_long = total_s is not None and attempt_s is not None and attempt_s > total_s
        refuse(
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
    rules over replaced retries too. A shorter total timeout shortens that of the attempts with
    it; otherwise the numbers must fit the policies that stay.
    """

    total_timeout_s: float | None
    attempt_timeout_s: float | None
    retry: RetrySettings | None


def overridden(policies: Policies, overrides: Overrides) -> Policies:
    """Return the policies of a call that replaces some of its source's.

    Raises:
        ValueError: A value is out of range, or does not fit the others.
        TypeError: A timeout is not a number, `retry` is not a RetrySettings, or another policy is
            given.
    """
    if not overrides.keys() <= Overrides.__annotations__.keys():
        *most, last = Overrides.__annotations__
        others = ", ".join(sorted(overrides.keys() - Overrides.__annotations__.keys()))
        raise TypeError(f"a call may replace only {', '.join(most)} and {last}, got {others}")
    total_s, attempt_s = overrides.get("total_timeout_s"), policies.attempt_timeout_s
    if total_s is not None:
        expect_number("total_timeout_s", total_s, TIMEOUT_LIKE)
    if total_s is not None and attempt_s is not None and total_s < attempt_s:
        overrides = {"attempt_timeout_s": total_s, **overrides}
    return replace(policies, **overrides)


class _FixedHeaders(Mapping[str, str]):
    """Immutable headers, so that an object that holds them can be a key."""

    __slots__ = ("_values",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._values = dict(headers)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Source:
    """An HTTP API that calls go to; it never changes, and can be a key.

    Attributes:
        name: Its name in calls, errors and events.
        base_url: Where it is, with scheme and host; paths of calls are appended. A user and a
            password in it are sent as an Authorization header, unless `headers` has one.
        headers: Sent with every request; copied. They may be secret: `repr` leaves them out, and
            masks user and password of the URL.
        policies: Those around its calls; None for the client's default ones.

    Raises:
        ValueError: The name is empty, the URL is not an absolute http(s) URL with a port in
            1..65535, or a header cannot be sent.
        TypeError: A value is of the wrong kind.
    """

    name: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    policies: Policies | None = None

    def __post_init__(self) -> None:
        expect("name", self.name, str, "write it as text")
        expect("base_url", self.base_url, str, "write it as text")
        if self.policies is not None:
            expect("policies", self.policies, Policies, "make it Policies(...), or leave it out")
        check_headers(self.headers)
        refuse(
            None if self.name else "name must not be empty; calls and events go by it",
            complaint_about_base_url(self.base_url),
        )
        object.__setattr__(self, "headers", _FixedHeaders(self.headers))

    def __repr__(self) -> str:
        address = without_credentials(self.base_url)
        return f"Source(name={self.name!r}, base_url={address!r}, policies={self.policies!r})"


def distinct(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the sources.

    Raises:
        TypeError: One is not a Source.
        ValueError: Two share a name.
    """
    names = set()
    for source in (sources := tuple(sources)):
        expect("a source", source, Source, "make it a Source")
        if source.name in names:
            raise ValueError(f"two sources are named {source.name!r}; names must differ")
        names.add(source.name)
    return sources
