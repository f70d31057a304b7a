"""Clients, each with a concurrency limit of its own, on one source: discrete events, virtual time.

A second of a thousand calls takes some milliseconds, as neither tasks nor a loop take part.
"""

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from random import Random
from typing import Any, Protocol

from resilience import LimitReason

Service = Callable[[Random], float]

SERVICES: dict[str, Service] = {
    "exponential": lambda random: random.expovariate(1),
    "constant": lambda _random: 1.0,
    "lognormal": lambda random: random.lognormvariate(-0.18, 0.6),
    "bimodal": lambda random: 0.5 if random.random() < 0.9 else 5.5,
    "Pareto": lambda random: random.paretovariate(1.5) / 3,
}
"""How long the source works on a call, in multiples of the mean."""


class Limit(Protocol):
    """What is simulated."""

    slots: int

    @property
    def limit(self) -> int:
        """Return the limit."""

    def record(self, latency_s: float | None, running: int, now_s: float) -> bool:
        """Count a result."""

    def evaluate(self, running: int, now_s: float, shared_s: float) -> LimitReason | None:
        """Draw a conclusion."""


class FixedLimit:
    """The limit of somebody who knows the right one."""

    def __init__(self, limit: int) -> None:
        self.slots = self.limit = limit

    def record(self, *_: object) -> bool:
        """Conclude never."""
        return False

    def evaluate(self, *_: object) -> None:
        """Do nothing."""


class Client:
    """Callers who each send one call after the other, through one limit.

    Args:
        limit: Theirs.
        callers: How many; may change.
        clock_ahead_s: By how much the clock that the clients share is wrong here.
    """

    def __init__(self, limit: Limit, callers: int, clock_ahead_s: float = 0.0) -> None:
        self.limit = limit
        self.callers = callers
        self.clock_ahead_s = clock_ahead_s
        self.running = 0
        self.answered_at_s: list[float] = []

    def answered(self, from_s: float, to_s: float) -> int:
        """Return how many of their calls were answered."""
        return bisect_left(self.answered_at_s, to_s) - bisect_left(self.answered_at_s, from_s)


class Simulation:
    """The source: workers who each take the next call when they are free.

    Args:
        workers: How many work at once; may change.
        service: How long they do, in multiples of the mean.
        mean_s: The mean, in seconds; may change.
        refused_share: Of calls that are answered with 503 at once, whatever the load; may change.
        failed_share: Of calls that are answered with 500 at once.
        most_waiting: Calls that may wait for a worker; the next is answered with 503 at once.
        seed: Of chance.
    """

    def __init__(
        self,
        workers: int,
        *,
        service: Service = SERVICES["exponential"],
        mean_s: float = 0.05,
        refused_share: float = 0.0,
        failed_share: float = 0.0,
        most_waiting: float = float("inf"),
        seed: int = 1,
    ) -> None:
        self.workers = workers
        self.mean_s = mean_s
        self._service = service
        self.refused_share = refused_share
        self._failed_share = failed_share
        self._most_waiting = most_waiting
        self._at_once_s = mean_s / 10
        self._random = Random(seed)
        self._clients: list[Client] = []
        self._busy = 0
        self._waiting: deque[tuple[Client, float]] = deque()
        self._number = count()
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._limits: list[tuple[float, int]] = []
        self.now_s = 0.0
        self._after(0.0, self._look)

    def add(self, client: Client) -> None:
        """Let a client's callers begin."""
        self._clients.append(client)
        self._send(client)

    def at(self, when_s: float, change: Callable[[], None]) -> None:
        """Change something then."""
        self._after(when_s - self.now_s, self._change, change)

    def run(self, until_s: float) -> None:
        """Let time pass."""
        while self._events[0][0] <= until_s:
            self.now_s, _, happens, what = heapq.heappop(self._events)
            happens(*what)
        self.now_s = until_s

    def answered_per_s(self, from_s: float, to_s: float) -> float:
        """Return how many calls were answered with 200 a second."""
        return sum(client.answered(from_s, to_s) for client in self._clients) / (to_s - from_s)

    def limits(self, from_s: float, to_s: float) -> list[int]:
        """Return the sum of the limits, each 100 ms."""
        return [limits for at_s, limits in self._limits if from_s <= at_s < to_s]

    def fairness(self, from_s: float, to_s: float) -> float:
        """Return Jain's index of the answers each client got: 1 if all got as many."""
        return _jain([client.answered(from_s, to_s) for client in self._clients])

    def _after(self, delay_s: float, happens: Callable[..., None], *what: object) -> None:
        heapq.heappush(self._events, (self.now_s + delay_s, next(self._number), happens, what))

    def _look(self) -> None:
        self._limits.append((self.now_s, sum(client.limit.limit for client in self._clients)))
        self._after(0.1, self._look)

    def _change(self, change: Callable[[], None]) -> None:
        change()
        self._work_on_next()
        for client in self._clients:
            self._send(client)

    def _send(self, client: Client) -> None:
        while client.running < min(client.limit.slots, client.callers):
            client.running += 1
            self._receive(client, self.now_s)

    def _receive(self, client: Client, sent_s: float) -> None:
        dice = self._random.random()
        if dice < self.refused_share:
            self._after(self._at_once_s, self._end, client, sent_s, 503)
        elif dice < self.refused_share + self._failed_share:
            self._after(self._at_once_s, self._end, client, sent_s, 500)
        elif self._busy < self.workers:
            self._work(client, sent_s)
        elif len(self._waiting) < self._most_waiting:
            self._waiting.append((client, sent_s))
        else:
            self._after(self._at_once_s, self._end, client, sent_s, 503)

    def _work(self, client: Client, sent_s: float) -> None:
        self._busy += 1
        self._after(self.mean_s * self._service(self._random), self._worked, client, sent_s)

    def _worked(self, client: Client, sent_s: float) -> None:
        self._busy -= 1
        self._work_on_next()
        self._end(client, sent_s, 200)

    def _work_on_next(self) -> None:
        while self._waiting and self._busy < self.workers:
            self._work(*self._waiting.popleft())

    def _end(self, client: Client, sent_s: float, status: int) -> None:
        limit, running, now_s = client.limit, client.running, self.now_s
        if status == 200:
            client.answered_at_s.append(now_s)
        latency_s = now_s - sent_s if status == 200 else None
        if status != 500 and limit.record(latency_s, running, now_s):
            limit.evaluate(running, now_s, now_s + client.clock_ahead_s)
        client.running -= 1
        self._send(client)


def _jain(shares: Iterable[float]) -> float:
    shares = list(shares)
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
