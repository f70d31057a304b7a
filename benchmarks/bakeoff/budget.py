"""What a caller may spend on one call, what it sends it over, and how its users call it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import httpx

Call = Callable[[str], Awaitable[int]]
"""Takes a path, returns the status of the answer or raises why there is none."""

Caller = Callable[["Budget", str, "Wire"], AbstractAsyncContextManager[Call]]
"""Takes a budget, a base URL and the wire; while it is entered, calls can be made."""

Transport = httpx.AsyncBaseTransport


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What every caller sends its requests over: the transport that it comes with, and a witness.

    Attributes:
        max_connections: Of that transport.
        around: Takes that transport and returns what to send through in its place.
    """

    max_connections: int = 100
    around: Callable[[Transport], Transport] = lambda transport: transport

    def of_httpx(self) -> Transport:
        """Return httpx's own transport on this wire."""
        limits = httpx.Limits(max_connections=self.max_connections, max_keepalive_connections=20)
        return self.around(httpx.AsyncHTTPTransport(limits=limits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The numbers of every caller; each keeps to them as nearly as its library allows.

    Attributes:
        total_s: Limit on the whole call in seconds, at least `attempt_s`.
        attempt_s: Limit on each attempt in seconds, > 0.
        retries: Attempts after the first, >= 0.
        retry_delay_s: Base of the exponential, jittered delays in seconds, > 0.
        failures: What opens the circuit, >= 1: so many in a row where that is all a library can
            count, or half of at least twice as many calls where it keeps a window.
        break_s: How long an open circuit rejects calls, in seconds, > 0.

    Raises:
        ValueError: A value is out of range.
    """

    total_s: float = 1.0
    attempt_s: float = 0.3
    retries: int = 2
    retry_delay_s: float = 0.05
    failures: int = 5
    break_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.attempt_s <= self.total_s:
            raise ValueError(
                f"attempt_s must be above 0 and at most total_s ({self.total_s:g}), "
                f"got {self.attempt_s:g}; lower the one or raise the other"
            )
        if self.retries < 0 or self.failures < 1 or min(self.retry_delay_s, self.break_s) <= 0:
            raise ValueError(
                "retries must be at least 0, failures at least 1, retry_delay_s and break_s "
                f"above 0, got {self}"
            )
