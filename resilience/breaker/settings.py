"""When a circuit opens, and for how long."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from resilience._internal.checks import DAY_S, MAX_COUNT, expect, expect_function, outside, refuse

_log = logging.getLogger("resilience")

_SECONDS = "it is in seconds"
_RATIO = "0.5 opens when half the calls fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What a break generator knows about the circuit that opens.

    Attributes:
        failure_ratio: Share of failures in the window, 0..1; 0 for an empty window.
        failures: Failures in the window.
        half_open_trials: How often the circuit was half-open since it last closed.
    """

    failure_ratio: float
    failures: int
    half_open_trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    """A circuit opens when either rule says so; the ranges include their ends.

    The first four defaults are those of Polly, also for HTTP, and suit a source that is called
    all the time. Below 100 attempts in 30 s the ratio never opens the circuit, however many fail:
    give a source that is called seldom `consecutive_failures` (5 is usual), or a lower
    `minimum_throughput`.

    Attributes:
        failure_ratio: Opens when at least this share of the window's calls failed, 0..1;
            None leaves the window out. 0.1, because a healthy source fails far fewer, and
            ten of 100 are not random.
        minimum_throughput: Calls in the window below which the share is not judged, >= 2; 100, so
            that it takes ten failures at least, and the first call that fails opens nothing.
        sampling_s: Length of the window in seconds, 0.5 s..24 h; 30 s: at a steady load
            a healthy source that begins to fail every call opens its circuit after a tenth of it,
            and one that fails for a moment does not.
        break_s: How long an open circuit rejects calls, in seconds, 0.5 s..24 h; 5 s
            relieve an overloaded source, and its callers soon notice that it has recovered.
        consecutive_failures: Also opens after this many failures in a row, >= 1; None, the
            default, never: a source that is called often fails many in a row within a moment.
        trial_timeout_s: How long a half-open circuit waits for its trial before the next call
            may try too, in seconds, 0.5 s..24 h; None, the default, means `break_s`: a trial
            that hangs then costs no more than one that fails. The trial's result still counts,
            however late: the first success closes the circuit.
        counts_429: Whether a 429 is a failure. By default it is neutral: it says that the source
            is healthy and its caller too fast, which a rate limit cures and a break does not.
        break_generator: Returns the seconds to stay open instead of `break_s`, 0..24 h. If it
            raises or returns anything else, that is logged and `break_s` holds. None, the default,
            always means `break_s`: a break that grows keeps a source that has recovered waiting.

    Raises:
        ValueError: A value is out of range, or neither rule is given.
        TypeError: A value is of the wrong kind.
    """

    failure_ratio: float | None = 0.1
    minimum_throughput: int = 100
    sampling_s: float = 30.0
    break_s: float = 5.0
    consecutive_failures: int | None = None
    trial_timeout_s: float | None = None
    counts_429: bool = False
    break_generator: Callable[[Trip], float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        expect("counts_429", self.counts_429, bool, "write True or False")
        if self.break_generator is not None:
            expect_function("break_generator", self.break_generator, "it returns seconds")
        ruleless = self.failure_ratio is None and self.consecutive_failures is None
        refuse(
            outside("failure_ratio", self.failure_ratio, 0, 1, _RATIO, optional=True),
            outside(
                "minimum_throughput",
                self.minimum_throughput,
                2,
                MAX_COUNT,
                "10 is usual",
                whole=True,
            ),
            outside("sampling_s", self.sampling_s, 0.5, DAY_S, _SECONDS),
            outside("break_s", self.break_s, 0.5, DAY_S, _SECONDS),
            outside(
                "consecutive_failures",
                self.consecutive_failures,
                1,
                MAX_COUNT,
                "5 is usual",
                whole=True,
                optional=True,
            ),
            outside("trial_timeout_s", self.trial_timeout_s, 0.5, DAY_S, _SECONDS, optional=True),
            "failure_ratio and consecutive_failures are both None, so the circuit could never "
            "open; give one, or breaker=None"
            if ruleless
            else None,
        )

    def opens_after(self, failures: int, throughput: int, *, in_a_row: int) -> bool:
        """Tell whether a closed circuit opens now that a call has failed.

        Args:
            failures: In the window.
            throughput: Calls in the window that succeeded or failed.
            in_a_row: Failures since the last success.
        """
        if self.consecutive_failures is not None and in_a_row >= self.consecutive_failures:
            return True
        return (
            self.failure_ratio is not None
            and throughput >= self.minimum_throughput
            and failures / throughput >= self.failure_ratio
        )

    def break_after(self, trip: Trip) -> float:
        """Return how long the circuit stays open after `trip`, in seconds; never raises."""
        if self.break_generator is None:
            return self.break_s
        try:
            break_s = self.break_generator(trip)
            refuse(outside("a generated break", break_s, 0, DAY_S, _SECONDS))
        except Exception:  # noqa: BLE001 - user code; the attempt's slot must still be given back
            _log.exception("the break generator failed on %r; break_s holds", trip)
            return self.break_s
        return break_s
