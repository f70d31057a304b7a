"""A circuit breaker whose time a test moves by hand."""

# ruff: noqa: D102 - a scenario's methods say what they do
import pytest

from resilience import BreakerSettings, CircuitBreaker, CircuitOpen, Event, Subscribers
from tests.resilience.clock import HandClock

BREAK_S = 5.0
BOOM = ConnectionError("boom")


class Scenario:
    """A breaker on a hand-moved clock, with the events it published."""

    def __init__(self, settings: BreakerSettings | None = None) -> None:
        rules = settings or BreakerSettings(
            failure_ratio=0.5, minimum_throughput=2, sampling_s=10, break_s=BREAK_S
        )
        self.clock = HandClock()
        self.events: list[Event] = []
        self.subscribers = Subscribers()
        self.subscribers.add(self.events.append)
        self.breaker = CircuitBreaker(
            rules, name="rates", clock=self.clock, subscribers=self.subscribers
        )

    def fail(self, times: int = 1) -> None:
        for _ in range(times):
            self.breaker.admit().failure(BOOM)

    def succeed(self, times: int = 1) -> None:
        for _ in range(times):
            self.breaker.admit().success()

    def trip(self) -> None:
        self.fail(2)
        assert self.breaker.state == "open"

    def half_open(self) -> None:
        self.trip()
        self.clock.now_s += BREAK_S

    def rejection(self) -> CircuitOpen:
        with pytest.raises(CircuitOpen) as raised:
            self.breaker.admit()
        return raised.value

    def count(self, kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for event in self.events)
