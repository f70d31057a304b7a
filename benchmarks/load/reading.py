"""One run of one tool."""

import json
import math
import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a tool says of its run, and what it cost.

    Attributes:
        requests: that were answered with 200, > 0.
        duration_s: in which they were, > 0.
        p50_us, p99_us: of the latency, as the tool has it.
        cpu_s: processor time of the tool; None where only its caller can tell.
    """

    requests: int
    duration_s: float
    p50_us: float
    p99_us: float
    cpu_s: float | None = None

    def __post_init__(self) -> None:
        if self.requests < 1 or self.duration_s <= 0:
            raise ValueError(
                f"a run must have answers, got {self.requests} in {self.duration_s} s; "
                "run the tool by hand to see why"
            )

    @property
    def per_s(self) -> float:
        """Requests a second."""
        return self.requests / self.duration_s

    def to_line(self) -> str:
        """Return the reading as a line of JSON; `from_line` reads it back."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> "Reading":
        """Read the last line of a client's output."""
        return cls(**json.loads(line.strip().rpartition("\n")[2]))


def quantile_us(sorted_s: Sequence[float], share: float) -> float:
    """Return the nearest-rank quantile, in microseconds, of ascending seconds; at least one."""
    return sorted_s[max(0, math.ceil(share * len(sorted_s)) - 1)] * 1e6


def own_cpu_s() -> float:
    """Return the processor time that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
