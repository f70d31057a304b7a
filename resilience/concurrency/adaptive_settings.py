"""The rules of an adaptive concurrency limit."""

from dataclasses import dataclass

from resilience.checks.ranges import DAY_S, complaint_about_queue, outside, refuse

_MAX_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSettings:
    """A concurrency limit that follows the source; the ranges include their ends.

    Attributes:
        initial_limit: Calls at once to begin with, `min_limit`..`max_limit`; 20 is more than a
            quiet caller needs and little enough for a small server.
        min_limit: Never fewer calls at once, 1..100,000; 1 keeps measuring going.
        max_limit: Never more, up to 100,000. 200 bounds the harm if the source shows overload in
            none of the ways that are looked for. Where many processes call one source, give each
            its share of what the source bears, twice over: it is the one bound that holds if
            their clocks disagree, see `GradientLimit`.
        latency_tolerance: How many times the unloaded mean latency is no sign of a queue, 1..10.
            1.1, as the unloaded latency is known to a tenth or so; more lets longer queues be.
        probe_every_s: How often the unloaded source is measured anew, in seconds, 1 s..24 h. A
            probe takes a second or four latencies at a quarter of the slots; every 20 s it costs
            a saturated source 3 % of its throughput, and one that is slower for good is known as
            such after that time. The same in all processes that call the source.
        max_queue: Calls that may wait for a slot, >= 0; the next is refused. 1,000, as of a
            bulkhead.
        max_wait_s: A call that has waited so long gives up, in seconds, 10 ms..24 h; 30 s, as of
            a bulkhead.

    Raises:
        ValueError: A value is out of range, or the limits are not in order.
        TypeError: A value is of the wrong kind.
    """

    initial_limit: int = 20
    min_limit: int = 1
    max_limit: int = 200
    latency_tolerance: float = 1.1
    probe_every_s: float = 20.0
    max_queue: int = 1_000
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        refuse(
            outside("min_limit", self.min_limit, 1, _MAX_LIMIT, "1 is usual", whole=True),
            outside("max_limit", self.max_limit, 1, _MAX_LIMIT, "200 is usual", whole=True),
            outside("initial_limit", self.initial_limit, 1, _MAX_LIMIT, "20 is usual", whole=True),
            self._complaint_about_order(),
            outside("latency_tolerance", self.latency_tolerance, 1, 10, "1.1 is usual"),
            outside("probe_every_s", self.probe_every_s, 1, DAY_S, "it is in seconds"),
            complaint_about_queue(self.max_queue),
            outside("max_wait_s", self.max_wait_s, 0.01, DAY_S, "it is in seconds"),
        )

    def _complaint_about_order(self) -> str | None:
        if self.min_limit <= self.initial_limit <= self.max_limit:
            return None
        return (
            "min_limit, initial_limit and max_limit must be in this order, got "
            f"{self.min_limit!r}, {self.initial_limit!r} and {self.max_limit!r}; "
            "lower the first or raise the last"
        )
