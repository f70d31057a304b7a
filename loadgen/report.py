"""What the generator saw of itself during a load, and whether it was the limit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

BUSY_SHARE = 0.9  # of one core, above which its own work decides the rate
LATE_MS = 50.0  # lag of one loop round in a hundred, above which it shapes the percentiles
SHORT_RATE = 0.995  # of the asked rate, below which requests were not taken up when due
SHORTEST_S = 0.5  # of a load; a shorter one says nothing about the generator


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One load as its generator saw it; the warm-up is part of it.

    Attributes:
        began_s: of this machine's monotonic clock, when the first recorded request could be due.
        duration_s: from the first request submitted to the last ended.
        cpu_share: the process's CPU time over the duration, 1 for one core.
        loop_lag_p99_ms: by how much the event loop was late, of 99 % of its looks at the clock.
        loop_lag_max_ms: by how much at the most.
        asked_per_s: mean rate at which requests of an open load fell due; None for a closed one.
        taken_per_s: mean rate at which they were taken up, to be sent on the next free connection.
        connections: opened in all.
    """

    began_s: float
    duration_s: float
    cpu_share: float
    loop_lag_p99_ms: float
    loop_lag_max_ms: float
    asked_per_s: float | None
    taken_per_s: float | None
    connections: int

    @property
    def limits(self) -> tuple[str, ...]:
        """In words, each reason to take the generator for the limit and not the target."""
        if self.duration_s < SHORTEST_S:
            return ()
        found = []
        if self.cpu_share > BUSY_SHARE:
            found.append(f"the generator used {self.cpu_share:.0%} of a core")
        if self.loop_lag_p99_ms > LATE_MS:
            found.append(f"its event loop was {self.loop_lag_p99_ms:.0f} ms late (p99)")
        if (
            self.asked_per_s
            and self.taken_per_s
            and self.taken_per_s < self.asked_per_s * SHORT_RATE
        ):
            found.append(f"it took up {self.taken_per_s:.0f} of {self.asked_per_s:.0f} requests/s")
        return tuple(found)

    def to_document(self) -> dict[str, Any]:
        """Return the report as a JSON-ready document; `RunReport(**document)` reads it back."""
        return asdict(self)


def merge_reports(reports: Sequence[RunReport]) -> RunReport:
    """Return the report of one load that several generators, at least one, sent together.

    Rates and connections add up; of shares, lags and durations it is the worst that counts.
    """
    asked = [report.asked_per_s for report in reports if report.asked_per_s is not None]
    taken = [report.taken_per_s for report in reports if report.taken_per_s is not None]
    return RunReport(
        began_s=min(report.began_s for report in reports),
        duration_s=max(report.duration_s for report in reports),
        cpu_share=max(report.cpu_share for report in reports),
        loop_lag_p99_ms=max(report.loop_lag_p99_ms for report in reports),
        loop_lag_max_ms=max(report.loop_lag_max_ms for report in reports),
        asked_per_s=sum(asked) if asked else None,
        taken_per_s=sum(taken) if taken else None,
        connections=sum(report.connections for report in reports),
    )
