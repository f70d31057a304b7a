"""How often a source may be called."""

from dataclasses import dataclass
from typing import Self, TypedDict, Unpack

from resilience.checks.ranges import DAY_S, complaint_about_queue, outside, refuse

_MIN_PERMITS, _MAX_PERMITS = 1e-6, 1_000_000
_NO_LIMIT = "use rate_limit=None for no limit"


class Rest(TypedDict, total=False):
    """What `per_second` and `per_minute` take beside the rate; the defaults are the class's."""

    burst: int | None
    max_queue: int
    max_wait_s: float
    max_pause_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `burst` requests at once, and `permits` every `period_s` seconds in the long run.

    `per_second` and `per_minute` build it. In any window of t seconds at most
    burst + permits/period_s·t requests are sent: against a server that counts by fixed windows,
    choose a burst smaller than `permits` to leave room for it.

    Attributes:
        permits: Requests a period, 0.000,001..1,000,000; a fraction is allowed.
        period_s: Length of the period in seconds, 1 ms..24 h.
        burst: Requests that may be saved up, 1..1,000,000; None means `permits`, at least 1, so
            that a caller who was quiet for a period may use that period's permits at once.
        max_queue: Calls that may wait for their turn, >= 0; the next is refused. The default of
            1,000 bounds memory and is seldom what refuses a call.
        max_wait_s: A call that would wait longer is refused at once, and one that has waited so
            long gives up, in seconds, 0..24 h. The default of 30 s is how long people and proxies
            commonly wait for the whole reply.
        max_pause_s: A 429 stops the source for as long as its Retry-After asks, but no longer
            than this, in seconds, 0..24 h; the default of 60 s keeps a hostile or mistaken
            server from silencing its client for good.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of the wrong kind.
    """

    permits: float
    period_s: float
    burst: int | None = None
    max_queue: int = 1_000
    max_wait_s: float = 30.0
    max_pause_s: float = 60.0

    def __post_init__(self) -> None:
        refuse(
            outside("permits", self.permits, _MIN_PERMITS, _MAX_PERMITS, _NO_LIMIT),
            outside("period_s", self.period_s, 0.001, DAY_S, "it is in seconds"),
            outside(
                "burst",
                self.burst,
                1,
                _MAX_PERMITS,
                "1 spaces all requests evenly",
                whole=True,
                optional=True,
            ),
            complaint_about_queue(self.max_queue),
            outside("max_wait_s", self.max_wait_s, 0, DAY_S, "it is in seconds"),
            outside("max_pause_s", self.max_pause_s, 0, DAY_S, "it is in seconds"),
        )

    @classmethod
    def per_second(cls, permits: float, **rest: Unpack[Rest]) -> Self:
        """Return the limit of `permits` a second; see the class for the rest."""
        return cls(permits=permits, period_s=1.0, **rest)

    @classmethod
    def per_minute(cls, permits: float, **rest: Unpack[Rest]) -> Self:
        """Return the limit of `permits` a minute; see the class for the rest."""
        return cls(permits=permits, period_s=60.0, **rest)

    @property
    def interval_s(self) -> float:
        """Return the seconds in which one token comes."""
        return self.period_s / self.permits

    @property
    def capacity(self) -> int:
        """Return how many tokens the bucket holds."""
        return self.burst if self.burst is not None else max(1, int(self.permits))
