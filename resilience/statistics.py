"""Counts of the calls to a source and of their results."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatistics:
    """The calls to one source since its pipeline was built.

    A call makes one *try*, and one more for each retry and each hedge that begins. A try ends
    sent, which makes it an attempt, or unsent: the circuit rejected it, a queue refused it, or the
    call was cancelled or ran out of time while it waited. An unsent try that is not a hedge ends
    its call. Hence, at any time, in an event's handler too:

        requests = ok + failed + in_flight
        retries = attempts + rejects + waiting - requests - hedges

    and once the source is idle, in_flight and waiting are 0. Counts change before their event.

    Attributes:
        source: Name of the source.
        requests: Calls that began.
        ok: Calls that ended in an answer: any status that is not transient.
        failed: Calls that ended in anything else, `cancelled` among them.
        cancelled: Calls that were cancelled from outside; not failures of the source.
        in_flight: Calls that have not ended.
        attempts: Requests that were sent.
        retries: Tries after the first of their call, hedges left out.
        hedges: Tries beside a slow attempt.
        waiting: Tries that have not ended: they wait for a slot or a token, or have only begun.
        rejects: Tries that ended unsent: the sum of the next three.
        circuit_rejects: By the circuit breaker.
        queue_rejects: By the rate limit or the bulkhead.
        abandoned: Cancelled, or out of time, while waiting.
        rate_limit_waits: Tries that waited for a token and got it.
        rate_limit_wait_s: The sum of their waits in seconds.
        http_429: Attempts that were answered with 429.
        retries_suppressed: Retries that the budget did not allow.
        circuit_opened: How often the circuit opened.
        circuit: "closed", "open" or "half-open"; None without a breaker.
        finished_at_s: When the latest call ended, on the event loop's clock; None before any.
    """

    source: str
    requests: int
    ok: int
    failed: int
    cancelled: int
    in_flight: int
    attempts: int
    retries: int
    hedges: int
    waiting: int
    rejects: int
    circuit_rejects: int
    queue_rejects: int
    abandoned: int
    rate_limit_waits: int
    rate_limit_wait_s: float
    http_429: int
    retries_suppressed: int
    circuit_opened: int
    circuit: str | None
    finished_at_s: float | None


class Counts:
    """The running counts behind `SourceStatistics`; the layers of one pipeline add to them."""

    __slots__ = (
        "abandoned",
        "attempts",
        "cancelled",
        "circuit_rejects",
        "failed",
        "finished_at_s",
        "hedges",
        "http_429",
        "ok",
        "queue_rejects",
        "rate_limit_wait_s",
        "rate_limit_waits",
        "requests",
        "retries",
        "retries_suppressed",
    )

    def __init__(self) -> None:
        self.requests = self.ok = self.failed = self.cancelled = 0
        self.attempts = self.retries = self.hedges = self.retries_suppressed = 0
        self.circuit_rejects = self.queue_rejects = self.abandoned = 0
        self.rate_limit_waits = self.http_429 = 0
        self.rate_limit_wait_s = 0.0
        self.finished_at_s: float | None = None

    def snapshot(
        self, source: str, *, circuit: str | None, circuit_opened: int
    ) -> SourceStatistics:
        """Return the counts as they stand, with what the circuit breaker knows."""
        counted = {name: getattr(self, name) for name in self.__slots__}
        rejects = self.circuit_rejects + self.queue_rejects + self.abandoned
        return SourceStatistics(
            source=source,
            in_flight=self.requests - self.ok - self.failed,
            waiting=self.requests + self.retries + self.hedges - self.attempts - rejects,
            rejects=rejects,
            circuit=circuit,
            circuit_opened=circuit_opened,
            **counted,
        )
