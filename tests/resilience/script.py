"""A source that answers by script, so that a scenario reads as what happens in turn."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from random import Random
from typing import TypeVar

import httpx

from resilience import Event, Pipeline, Policies, Subscribers

E = TypeVar("E", bound=Event)
Step = int | float | Exception | httpx.Response | Callable[[], httpx.Response]
NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def response(status: int, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Return a response with an empty body, read."""
    return httpx.Response(status, headers=headers, content=b"")


class Script:
    """Plays one step a request; the last step repeats.

    A status answers with it, an exception is raised, a float is slept through before a 200.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.sent_at_s: list[float] = []

    async def __call__(self) -> httpx.Response:
        """Play the next step."""
        self.sent_at_s.append(asyncio.get_running_loop().time())
        step = self.steps[min(len(self.sent_at_s), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        if isinstance(step, float):
            await asyncio.sleep(step)
            return response(200)
        if isinstance(step, int):
            return response(step)
        return step if isinstance(step, httpx.Response) else step()

    @property
    def requests(self) -> int:
        """Return how many requests came."""
        return len(self.sent_at_s)


class Told:
    """A pipeline with everything that it told."""

    def __init__(self, policies: Policies, *, seed: int = 1) -> None:
        self.events: list[Event] = []
        self.subscribers = Subscribers()
        self.subscribers.add(self.events.append)
        self.pipeline = Pipeline(
            policies,
            source="rates",
            random=Random(seed),
            subscribers=self.subscribers,
            wall_clock=lambda: NOON,
        )

    async def run(self, script: Script, method: str = "GET") -> httpx.Response:
        """Run one call against the script."""
        return await self.pipeline.run(script, method=method)

    def heard(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]
