"""Circuits shared through a real Redis, each as if in a process of its own."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from resilience import BreakerSettings, CircuitBreaker, CircuitOpened, Event, Subscribers
from resilience.shared_state import SharedCircuits, SharingSettings

KEY = "resilience:circuit:rates"
RULES = BreakerSettings(failure_ratio=None, consecutive_failures=1, break_s=30.0)
QUICK = SharingSettings(poll_s=0.02, pause_s=0.02, limit_s=2, connect_limit_s=5)
IMPATIENT = SharingSettings(poll_s=0.02, pause_s=0.02, limit_s=0.1, connect_limit_s=0.5)
BOOM = ConnectionError("boom")
_SOON_CS = 2000


class Process:
    """What one process has: a breaker, its events, and a Redis client of its own."""

    def __init__(
        self, url: str, *, settings: SharingSettings = QUICK, rules: BreakerSettings = RULES
    ) -> None:
        subscribers = Subscribers()
        self.events: list[Event] = []
        subscribers.add(self.events.append)
        self.breaker = CircuitBreaker(rules, name="rates", subscribers=subscribers)
        # Without limits of its own, so that those of the settings are what is tested.
        self.redis = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=None)
        self.shared = SharedCircuits(
            self.redis, [self.breaker], subscribe=subscribers.add, settings=settings
        )

    @property
    def exchanges(self) -> int:
        """Return how often it has asked Redis so far."""
        return self.shared.exchanges

    @property
    def alone(self) -> bool:
        """Return whether Redis counts as away."""
        return self.shared._redis_is_unavailable

    @property
    def opened(self) -> list[CircuitOpened]:
        """Return how the circuit opened so far."""
        return [event for event in self.events if isinstance(event, CircuitOpened)]

    @property
    def state(self) -> str:
        """Return the state of the circuit."""
        return self.breaker.state

    def fail(self) -> None:
        """Let a call fail, which opens the circuit."""
        self.breaker.admit().failure(BOOM)

    def close_by_trial(self) -> None:
        """Let the break be over and the trial do well."""
        self.breaker._blocked_until_s = -math.inf
        self.breaker.admit().success()


@asynccontextmanager
async def processes(
    *urls: str, settings: SharingSettings = QUICK, rules: BreakerSettings = RULES
) -> AsyncIterator[list[Process]]:
    """Yield a process for each of the URLs of Redis, sharing its circuit."""
    async with AsyncExitStack() as stack:
        started = []
        for url in urls:
            process = Process(url, settings=settings, rules=rules)
            stack.push_async_callback(process.redis.aclose)
            await stack.enter_async_context(process.shared.sharing())
            started.append(process)
        yield started


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    for _ in range(_SOON_CS):
        if condition():
            return
        await asyncio.sleep(0.01)
    assert condition(), f"not within {_SOON_CS / 100:g} s"


class Exchanging(Protocol):
    """What counts its exchanges with Redis."""

    @property
    def exchanges(self) -> int:
        """Return how often it has asked Redis so far."""


async def exchanged(*those: Exchanging) -> None:
    """Wait until what each has to say has reached the others, and so has what they make of it."""
    for _ in range(2):
        begun = [each.exchanges for each in those]
        await eventually(
            lambda: all(each.exchanges >= n + 2 for each, n in zip(those, begun, strict=True))  # noqa: B023
        )
