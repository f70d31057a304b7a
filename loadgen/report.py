"""What the generator saw of itself during a load, and whether it was the limit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from loadgen.failures import advice_on
from loadgen.watch import STALL_S

BUSY_SHARE = 0.9  # of one core, above which its own work decides the rate
SHORT_RATE = 0.995  # of the asked rate, below which requests were not taken up when due
SHORTEST_S = 0.5  # of a load; a shorter one says nothing about CPU time and rate

# Of the time or of the requests, from which on stalls shape figures: a closed load loses that share
# of its rate and adds it to its mean, and p99 is decided by the hundredth part of the requests.
STALLED_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One load as its generator saw it; the warm-up is part of duration, CPU time and connections.

    Attributes:
        began_s: of this machine's monotonic clock, when the first recorded request could be due.
        duration_s: from the first request submitted to the last ended.
        cpu_share: the process's CPU time over the duration, 1 for one core; None if nobody can
            tell its own work from the client library's.
        loop_lag_p99_ms: by how much at most the event loop was late for 99 % of the time.
        loop_lag_max_ms: by how much it was ever late.
        asked_per_s: mean rate at which requests of an open load fell due; None for a closed one.
        taken_per_s: mean rate at which they were taken up, to be sent on the next free connection.
        connections: opened in all; None if the client library does not tell.
        requests: that count and have ended.
        scheduled_s: how long requests of an open load fell due; None for a closed one.
        stalls: how often the event loop was late by STALL_S or more.
        stalled_s: how long all of that took.
        stalled_share: of the time since `began_s`; 0 if no request ended while the loop caught up,
            as such stalls bend no figure.
        held_up: requests that stalls may have held up: those that ended while the loop caught up
            (none of a closed load whose mean latency makes the stalls slight), or of an open load
            those that were taken up STALL_S after they were due or later, if these are more.
        queued: requests of an open load that found as many connections busy as there may be.
        unsent: requests that the generator could not send for want of something of its own, by
            what it was.
    """

    began_s: float
    duration_s: float
    cpu_share: float | None
    loop_lag_p99_ms: float
    loop_lag_max_ms: float
    asked_per_s: float | None
    taken_per_s: float | None
    connections: int | None
    requests: int = 0
    scheduled_s: float | None = None
    stalls: int = 0
    stalled_s: float = 0.0
    stalled_share: float = 0.0
    held_up: int = 0
    queued: int = 0
    unsent: Mapping[str, int] = field(default_factory=dict)

    @property
    def limits(self) -> tuple[str, ...]:
        """In words, each reason to take the generator for the limit and not the target."""
        return (*self._unsent_limits(), *self._stall_limits(), *self._speed_limits())

    def _unsent_limits(self) -> list[str]:
        return [
            f"it could not send {count} of {self.requests} requests: {why}; {advice_on(why)}"
            for why, count in self.unsent.items()
        ]

    def _stall_limits(self) -> list[str]:
        share = self.held_up / self.requests if self.requests else 0.0
        if max(self.stalled_share, share) < STALLED_SHARE:
            return []
        held_up = f"{self.held_up} of {self.requests} requests"
        if not self.stalls:
            return [f"it took up {held_up} {1000 * STALL_S:g} ms late or later"]
        stood_still = f"its event loop {self.stalls_in_words}"
        return [f"{stood_still}: {100 * self.stalled_share:.1f} % of the time and {held_up}"]

    def _speed_limits(self) -> list[str]:
        if self.duration_s < SHORTEST_S:
            return []
        found = []
        if self.cpu_share is not None and self.cpu_share > BUSY_SHARE:
            found.append(f"the generator used {self.cpu_share:.0%} of a core")
        if (
            self.asked_per_s
            and self.taken_per_s
            and self.taken_per_s < self.asked_per_s * SHORT_RATE
        ):
            found.append(f"it took up {self.taken_per_s:.0f} of {self.asked_per_s:.0f} requests/s")
        return found

    @property
    def stalls_in_words(self) -> str:
        """For instance `stood still once, for 1.00 s` or `stood still 3 times, 0.61 s in all`."""
        if self.stalls == 1:
            return f"stood still once, for {self.stalled_s:.2f} s"
        return f"stood still {self.stalls} times, {self.stalled_s:.2f} s in all"

    def to_document(self) -> dict[str, Any]:
        """Return the report as a JSON-ready document; `RunReport(**document)` reads it back."""
        return asdict(self)


def merge_reports(reports: Sequence[RunReport]) -> RunReport:
    """Return the report of one load that several generators, at least one, sent together.

    Numbers of requests and connections, rates and stalls add up; of shares, lags and durations it
    is the worst that counts.
    """
    asked = [report.asked_per_s for report in reports if report.asked_per_s is not None]
    taken = [report.taken_per_s for report in reports if report.taken_per_s is not None]
    scheduled = [report.scheduled_s for report in reports if report.scheduled_s is not None]
    connections = [report.connections for report in reports if report.connections is not None]
    shares = [report.cpu_share for report in reports if report.cpu_share is not None]
    unsent: Counter[str] = Counter()
    for report in reports:
        unsent.update(report.unsent)
    return RunReport(
        began_s=min(report.began_s for report in reports),
        duration_s=max(report.duration_s for report in reports),
        cpu_share=max(shares) if shares else None,
        loop_lag_p99_ms=max(report.loop_lag_p99_ms for report in reports),
        loop_lag_max_ms=max(report.loop_lag_max_ms for report in reports),
        asked_per_s=sum(asked) if asked else None,
        taken_per_s=sum(taken) if taken else None,
        connections=sum(connections) if connections else None,
        requests=sum(report.requests for report in reports),
        scheduled_s=max(scheduled) if scheduled else None,
        stalls=sum(report.stalls for report in reports),
        stalled_s=sum(report.stalled_s for report in reports),
        stalled_share=max(report.stalled_share for report in reports),
        held_up=sum(report.held_up for report in reports),
        queued=sum(report.queued for report in reports),
        unsent=dict(unsent),
    )
